"""Makes the models that all sessions share. Importing this imports the SDK."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from urllib.parse import urlsplit

import openai
from agents import Model, ModelSettings, OpenAIChatCompletionsModel, OpenAIResponsesModel
from agents.items import TResponseInputItem
from openai.types.shared import Reasoning

from vixio.core.errors import ProviderUnavailable
from vixio.providers.fallback.circuit_breaker import BreakerSettings, CircuitBreaker
from vixio.providers.fallback.time_shares import TimeLimit
from vixio.providers.openai_agent.chat_client import ChatClient
from vixio.providers.openai_agent.fallback_model import FallbackModel, ModelCandidate
from vixio.providers.openai_agent.guarded_model import GuardedModel
from vixio.providers.openai_agent.phrasebook import PhraseBookModel
from vixio.providers.openai_agent.settings import (
    LiteLLMAgentSettings,
    OpenAIAgentSettings,
    PhraseBookAgentSettings,
    SamplingSettings,
)
from vixio.providers.openai_client import SharedClient, connection_limits


@dataclass(frozen=True, slots=True)
class SharedModel:
    """A model for all sessions, with the function that releases its resources."""

    model: GuardedModel | FallbackModel
    close: Callable[[], Awaitable[None]]
    image_outputs: bool = False
    """Whether its API accepts images from tools."""

    def for_turn(self) -> Model:
        """Return the model for one turn."""
        return self.model.turn() if isinstance(self.model, FallbackModel) else self.model


def openai_model(name: str, settings: OpenAIAgentSettings) -> SharedModel:
    """Return a model behind one of OpenAI's APIs, with a connection pool of its own."""
    # GuardedModel limits the wait for tokens; these limits catch hanging connections.
    timeout = max(settings.first_token_timeout, settings.stall_timeout)
    client = SharedClient(name, "agent", settings, timeout=timeout)
    sampling = _sampling(settings)
    if _is_official(client.base_url) or settings.api == "responses" or settings.store:
        sampling = replace(sampling, store=settings.store)  # other servers do not know the field
    label = f"{name}/{settings.model}"
    if settings.api == "chat_completions":
        client.open()
        chat = OpenAIChatCompletionsModel(settings.model, ChatClient(client, name).for_sdk())
        guarded = GuardedModel(chat, name, settings, label=label, settings=sampling)
        return SharedModel(guarded, client.close)
    if settings.reasoning_effort not in (None, "none") and not settings.store:
        # Reasoning that the server does not store is sent back, encrypted, in the next round.
        sampling = replace(sampling, response_include=["reasoning.encrypted_content"])
    responses_client = _responses_client(settings, timeout)
    responses = OpenAIResponsesModel(settings.model, responses_client)
    guarded = GuardedModel(
        responses, name, settings, label=label, settings=sampling, fit=for_responses
    )
    return SharedModel(guarded, responses_client.close, image_outputs=True)


def _is_official(url: str) -> bool:
    try:
        return urlsplit(url).hostname == "api.openai.com"
    except ValueError:  # no URL at all: the client's making says so
        return False


def _responses_client(settings: OpenAIAgentSettings, timeout: float) -> openai.AsyncOpenAI:
    """Return OpenAI's own client, for the API of which only OpenAI knows all events."""
    key = settings.api_key.get_secret_value() if settings.api_key is not None else ""
    if not key and settings.base_url:
        key = "none"  # local servers need none, but the client requires one
    return openai.AsyncOpenAI(
        api_key=key or None,
        base_url=settings.base_url,
        timeout=openai.Timeout(timeout + 5, connect=settings.connect_timeout),
        max_retries=0,  # GuardedModel retries, and never after the first token
        http_client=openai.DefaultAsyncHttpxClient(limits=connection_limits()),
    )


def for_responses(items: Sequence[TResponseInputItem]) -> list[TResponseInputItem]:
    """Leave out reasoning that the server neither stored nor encrypted: it would not find it."""
    return [
        item
        for item in items
        if item.get("type") != "reasoning" or item.get("encrypted_content") is not None
    ]


def litellm_model(name: str, settings: LiteLLMAgentSettings) -> SharedModel:
    """Return a model behind LiteLLM. Raises ProviderUnavailable without the extra."""
    # By default LiteLLM fetches a price list from the network when it is imported.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    try:
        litellm = import_module("litellm")
        from agents.extensions.models.litellm_model import LitellmModel
    except ImportError as error:
        raise ProviderUnavailable(name, "needs: pip install 'vixio[litellm]'") from error
    litellm.suppress_debug_info = True  # type: ignore[attr-defined]  # it prints to the console
    key = settings.api_key.get_secret_value() if settings.api_key is not None else None
    inner = LitellmModel(settings.model, base_url=settings.base_url, api_key=key)
    sampling = replace(_sampling(settings), extra_args={"max_retries": 0})  # GuardedModel retries
    label = f"{name}/{settings.model}"
    guarded = GuardedModel(inner, name, settings, label=label, settings=sampling)
    return SharedModel(guarded, _nothing, image_outputs=True)


def phrasebook_model(name: str, settings: PhraseBookAgentSettings) -> SharedModel:
    """Return the phrase book as a model."""
    inner = PhraseBookModel(settings.language)
    return SharedModel(GuardedModel(inner, name, settings), _nothing, image_outputs=True)


def fallback_model(
    parts: Sequence[tuple[SharedModel, TimeLimit, int]],
    first_token: float,
    breaker: BreakerSettings,
) -> SharedModel:
    """Return models in their order as one; with each, its time limit and its retries."""
    candidates = [
        ModelCandidate(part.model, limit, retries, CircuitBreaker(breaker))
        for part, limit, retries in parts
        if isinstance(part.model, GuardedModel)
    ]

    async def close() -> None:
        await asyncio.gather(*(part.close() for part, _, _ in parts))

    # Only what all of them take is used: the next one continues from the same items.
    images = all(part.image_outputs for part, _, _ in parts)
    return SharedModel(FallbackModel(candidates, first_token), close, images)


def _sampling(settings: SamplingSettings) -> ModelSettings:
    effort = settings.reasoning_effort
    return ModelSettings(
        temperature=settings.temperature,
        top_p=settings.top_p,
        max_tokens=settings.max_tokens,
        reasoning=Reasoning(effort=effort) if effort is not None else None,
        parallel_tool_calls=settings.parallel_tool_calls,
        include_usage=settings.include_usage or None,
        extra_body=settings.extra_body,
    )


async def _nothing() -> None:
    """Close nothing: LiteLLM manages its own pools, and the phrase book has none."""
