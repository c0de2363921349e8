"""The part that the agents of all sessions share: the SDK, the model and its connections.

The registry uses :data:`OPENAI_FACTORY`, :data:`LITELLM_FACTORY` and :data:`PHRASEBOOK_FACTORY`; an
ordered list of models is in ``fallback_backend``. Cheap to import.
"""

from __future__ import annotations

import asyncio
import os
from abc import abstractmethod
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.core.imports import sdk_import
from vixio.providers.agent import AgentBackend, AgentProvider
from vixio.providers.openai_agent.settings import (
    LiteLLMAgentSettings,
    OpenAIAgentSettings,
    PhraseBookAgentSettings,
    TurnSettings,
)
from vixio.providers.registry import ProviderFactory

if TYPE_CHECKING:
    from agents import FunctionTool

    from vixio.providers.openai_agent.models import SharedModel
    from vixio.providers.openai_agent.tools import OpenAIAgentToolConverter


@dataclass(frozen=True, slots=True)
class Runtime:
    """Objects that need the SDK."""

    shared: SharedModel
    converter: OpenAIAgentToolConverter
    function_tool: type[FunctionTool]


class SharedModelBackend(AgentBackend):
    """Imports the SDK and makes the model once; makes the agents of sessions."""

    def __init__(self, name: str, settings: TurnSettings) -> None:
        self.name = name
        self.settings = settings
        self._runtime: Runtime | None = None
        self._starting = asyncio.Lock()
        self._closed = False

    async def start(self) -> None:
        """Import the SDK and make the model, in a thread. Raises ProviderUnavailable."""
        await self.runtime()

    async def runtime(self) -> Runtime:
        """Return the result of :meth:`start`; the first caller starts it."""
        if self._runtime is None:
            async with self._starting:
                if self._closed:
                    raise ProviderError(self.name, "closed", retryable=False)
                if self._runtime is None:
                    self._runtime = await asyncio.to_thread(self._load)
        return self._runtime

    @property
    def loaded(self) -> Runtime | None:
        """The result of :meth:`start`; None before it."""
        return self._runtime

    def create(self) -> AgentProvider:
        """Return the agent of a new session."""
        from vixio.providers.openai_agent.provider import OpenAIAgentProvider

        return OpenAIAgentProvider(backend=self)

    async def close(self) -> None:
        """Close the connections; replies in progress fail."""
        self._closed = True
        runtime, self._runtime = self._runtime, None
        if runtime is not None:
            await runtime.shared.close()

    @abstractmethod
    def make_model(self) -> SharedModel:
        """Make the model, in a thread, after the SDK was imported. Raises ProviderUnavailable."""

    def _load(self) -> Runtime:
        with sdk_import():
            from agents import FunctionTool

            from vixio.providers.openai_agent import run, tools  # noqa: F401 - run: no tracing
            from vixio.providers.openai_agent.warm_up import warm_up

            warm_up()
            shared = self.make_model()
        converter = tools.OpenAIAgentToolConverter(image_outputs=shared.image_outputs)
        return Runtime(shared, converter, FunctionTool)


class OpenAIAgentBackend(SharedModelBackend):
    """A model behind one of OpenAI's APIs: one client and its connections for all sessions."""

    settings: OpenAIAgentSettings

    def __init__(self, settings: OpenAIAgentSettings, name: str = "openai") -> None:
        """Raises ProviderUnavailable if a key is needed and missing."""
        super().__init__(name, settings)
        has_key = settings.api_key is not None and settings.api_key.get_secret_value()
        if not (has_key or settings.base_url or os.environ.get("OPENAI_API_KEY")):
            message = "no api_key: set it here or in OPENAI_API_KEY"
            raise ProviderUnavailable(name, message, reason="no_key")

    def make_model(self) -> SharedModel:
        from vixio.providers.openai_agent.models import openai_model

        return openai_model(self.name, self.settings)


class LiteLLMAgentBackend(SharedModelBackend):
    """A model behind LiteLLM."""

    settings: LiteLLMAgentSettings

    def __init__(self, settings: LiteLLMAgentSettings, name: str = "litellm") -> None:
        """Raises ProviderUnavailable if LiteLLM is not installed."""
        super().__init__(name, settings)
        if find_spec("litellm") is None:
            raise ProviderUnavailable(name, "needs: pip install 'vixio[litellm]'")

    def make_model(self) -> SharedModel:
        from vixio.providers.openai_agent.models import litellm_model

        return litellm_model(self.name, self.settings)


class PhraseBookAgentBackend(SharedModelBackend):
    """The phrase book as a model."""

    settings: PhraseBookAgentSettings

    def __init__(self, settings: PhraseBookAgentSettings, name: str = "phrasebook") -> None:
        super().__init__(name, settings)

    def make_model(self) -> SharedModel:
        from vixio.providers.openai_agent.models import phrasebook_model

        return phrasebook_model(self.name, self.settings)


OPENAI_FACTORY = ProviderFactory(OpenAIAgentSettings, OpenAIAgentBackend)
LITELLM_FACTORY = ProviderFactory(LiteLLMAgentSettings, LiteLLMAgentBackend)
PHRASEBOOK_FACTORY = ProviderFactory(PhraseBookAgentSettings, PhraseBookAgentBackend)
