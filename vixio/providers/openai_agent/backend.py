"""The part that the agents of all sessions share: the model and its connections.

The registry uses :data:`OPENAI_FACTORY`, :data:`LITELLM_FACTORY` and :data:`PHRASEBOOK_FACTORY`; an
ordered list of models is in ``fallback_backend``. Cheap to import.
"""

from __future__ import annotations

import asyncio
import os
from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.core.extras import how_to_install
from vixio.providers.agent import AgentBackend, AgentProvider
from vixio.providers.openai_agent.settings import (
    LiteLLMAgentSettings,
    OpenAIAgentSettings,
    PhraseBookAgentSettings,
    TurnSettings,
)
from vixio.providers.registry import ProviderFactory

if TYPE_CHECKING:
    from vixio.providers.openai_agent.models import SharedModel


class SharedModelBackend(AgentBackend):
    """Makes the model once; makes the agents of sessions."""

    def __init__(self, name: str, settings: TurnSettings) -> None:
        self.name = name
        self.settings = settings
        self.loaded: SharedModel | None = None
        """The model; None before the start."""
        self._starting = asyncio.Lock()
        self._closed = False

    async def start(self) -> None:
        """Make the model, in a thread. Raises ProviderUnavailable."""
        await self.shared()

    async def shared(self) -> SharedModel:
        """Return the model; the first caller makes it. Raises ProviderUnavailable."""
        if self.loaded is None:
            async with self._starting:
                if self._closed:
                    raise ProviderError(self.name, "closed", retryable=False)
                if self.loaded is None:
                    self.loaded = await asyncio.to_thread(self.make_model)
        return self.loaded

    async def verify(self) -> bool:
        """Ask the model's server whether it serves us. Raises ProviderError if it does not."""
        return await (await self.shared()).verify()

    def create(self) -> AgentProvider:
        """Return the agent of a new session."""
        from vixio.providers.openai_agent.provider import OpenAIAgentProvider

        return OpenAIAgentProvider(backend=self)

    async def close(self) -> None:
        """Close the connections; replies in progress fail."""
        self._closed = True
        loaded, self.loaded = self.loaded, None
        if loaded is not None:
            await loaded.close()

    @abstractmethod
    def make_model(self) -> SharedModel:
        """Make the model, in a thread. May take seconds. Raises ProviderUnavailable."""


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
            raise ProviderUnavailable(name, f"needs: {how_to_install('litellm')}")

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


def replicated(name: str) -> Callable[[Sequence[tuple[TurnSettings, str]]], AgentBackend]:
    """Return what makes the agent of this name where its model is on several servers."""

    def create(each: Sequence[tuple[TurnSettings, str]]) -> AgentBackend:
        from vixio.providers.openai_agent.fallback_backend import ReplicatedAgentBackend

        return ReplicatedAgentBackend(name, each)

    return create


def _languages(settings: PhraseBookAgentSettings) -> Collection[str]:
    from vixio.language.phrasebook import LANGUAGES

    return (settings.language,) if settings.language else LANGUAGES


OPENAI_FACTORY = ProviderFactory(
    OpenAIAgentSettings,
    OpenAIAgentBackend,
    servers="base_url",
    create_shared=replicated("openai"),
)
LITELLM_FACTORY = ProviderFactory(
    LiteLLMAgentSettings,
    LiteLLMAgentBackend,
    servers="base_url",
    create_shared=replicated("litellm"),
)
PHRASEBOOK_FACTORY = ProviderFactory(
    PhraseBookAgentSettings, PhraseBookAgentBackend, languages=_languages
)
