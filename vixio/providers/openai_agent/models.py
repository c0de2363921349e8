"""Makes the models that all sessions share. Importing this imports the SDK."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from importlib import import_module

import openai
from agents import Model, ModelSettings, OpenAIChatCompletionsModel
from openai.types.shared import Reasoning

from vixio.core.errors import ProviderUnavailable
from vixio.providers.openai_agent.guarded_model import GuardedModel
from vixio.providers.openai_agent.phrasebook import PhraseBookModel
from vixio.providers.openai_agent.settings import (
    LiteLLMAgentSettings,
    OpenAIAgentSettings,
    PhraseBookAgentSettings,
    SamplingSettings,
)


@dataclass(frozen=True, slots=True)
class SharedModel:
    """A model, how it is asked, and how what it holds is given back."""

    model: Model
    settings: ModelSettings
    close: Callable[[], Awaitable[None]]
    image_outputs: bool = False
    """Does its API take images from tools?"""


def openai_model(name: str, settings: OpenAIAgentSettings) -> SharedModel:
    """Return a model behind the Chat Completions API with a connection pool of its own."""
    key = settings.api_key.get_secret_value() if settings.api_key is not None else ""
    if not key and settings.base_url:
        key = "none"  # local servers ask for none, the client insists on one
    client = openai.AsyncOpenAI(
        api_key=key or None,
        base_url=settings.base_url,
        # The guard limits the waiting for tokens; these catch what hangs below it.
        timeout=openai.Timeout(
            max(settings.first_token_timeout, settings.stall_timeout) + 5,
            connect=settings.connect_timeout,
        ),
        max_retries=0,  # the guard retries, and never after the first token
    )
    inner = OpenAIChatCompletionsModel(settings.model, client)
    return SharedModel(GuardedModel(inner, name, settings), _sampling(settings), client.close)


def litellm_model(name: str, settings: LiteLLMAgentSettings) -> SharedModel:
    """Return a model that LiteLLM reaches; raises ProviderUnavailable without the extra."""
    # LiteLLM fetches a list of prices from the network when it is imported, unless told not to.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        litellm = import_module("litellm")
        from agents.extensions.models.litellm_model import LitellmModel
    except ImportError as error:
        raise ProviderUnavailable(name, "needs: pip install 'vixio[litellm]'") from error
    litellm.suppress_debug_info = True  # type: ignore[attr-defined]  # it prints to the console
    key = settings.api_key.get_secret_value() if settings.api_key is not None else None
    inner = LitellmModel(settings.model, base_url=settings.base_url, api_key=key)
    sampling = replace(_sampling(settings), extra_args={"max_retries": 0})  # the guard retries
    return SharedModel(GuardedModel(inner, name, settings), sampling, _nothing, image_outputs=True)


def phrasebook_model(name: str, settings: PhraseBookAgentSettings) -> SharedModel:
    """Return the phrase book in the place of a model."""
    inner = PhraseBookModel(settings.language)
    return SharedModel(GuardedModel(inner, name, settings), ModelSettings(), _nothing)


def _sampling(settings: SamplingSettings) -> ModelSettings:
    effort = settings.reasoning_effort
    return ModelSettings(
        temperature=settings.temperature,
        top_p=settings.top_p,
        max_tokens=settings.max_tokens,
        reasoning=Reasoning(effort=effort) if effort is not None else None,
        extra_body=settings.extra_body,
    )


async def _nothing() -> None:
    """Close nothing: LiteLLM's pools are its own, and the phrase book has none."""
