"""Makes the models that all sessions share. Cheap to import: the SDK is imported where needed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from vixio.core.errors import ProviderError
from vixio.core.imports import sdk_import
from vixio.language.model_output import NOTHING, Further
from vixio.providers.fallback.availability import Availability, Place
from vixio.providers.fallback.circuit_breaker import BreakerSettings
from vixio.providers.fallback.time_shares import TimeLimit
from vixio.providers.health import served, trial
from vixio.providers.openai_agent.chat_model import ChatModel
from vixio.providers.openai_agent.conversations import Conversations
from vixio.providers.openai_agent.fallback_model import FallbackModel, ModelCandidate
from vixio.providers.openai_agent.guarded_model import GuardedModel
from vixio.providers.openai_agent.model import Model
from vixio.providers.openai_agent.phrasebook import PhraseBookModel
from vixio.providers.openai_agent.settings import (
    LiteLLMAgentSettings,
    OpenAIAgentSettings,
    PhraseBookAgentSettings,
)
from vixio.providers.openai_client import SharedClient


async def _nothing() -> None:
    """Close nothing: LiteLLM manages its own pools, and the phrase book has none."""


async def _unknown() -> bool:
    """Know nothing: only Chat Completions are asked through a client of ours."""
    return False


@dataclass(frozen=True, slots=True)
class SharedModel:
    """A model for all sessions, with the function that releases its resources."""

    model: GuardedModel | FallbackModel
    close: Callable[[], Awaitable[None]] = _nothing
    image_outputs: bool = False
    """Whether its API accepts images from tools."""
    verify: Callable[[], Awaitable[bool]] = _unknown
    """As of :class:`~vixio.providers.health.Verifiable`."""
    markers: Further = NOTHING
    """What its settings add to the markers that are left out of its text."""

    def for_turn(self) -> Model:
        """Return the model for one turn."""
        return self.model.turn() if isinstance(self.model, FallbackModel) else self.model


def openai_model(name: str, settings: OpenAIAgentSettings) -> SharedModel:
    """Return a model behind one of OpenAI's APIs, with a connection pool of its own.

    Raises ProviderUnavailable without a key.
    """
    label = f"{name}/{settings.model}"
    # The guard limits the wait for tokens; this limit catches hanging connections.
    timeout = max(settings.first_token_timeout, settings.stall_timeout)
    if settings.api == "responses":
        with sdk_import():
            from vixio.providers.openai_agent import sdk_models

            responses, close = sdk_models.responses_model(name, settings, timeout)
        guarded = GuardedModel(responses, name, settings, label=label)
        return SharedModel(guarded, close, image_outputs=True, markers=settings.further_markers)
    client = SharedClient(name, "agent", settings.connection, timeout=timeout)
    client.open()
    options: dict[str, Any] = {
        "temperature": settings.temperature,
        "top_p": settings.top_p,
        "max_tokens": settings.max_tokens,
        "reasoning_effort": settings.reasoning_effort,
        "parallel_tool_calls": settings.parallel_tool_calls,
        "stream_options": {"include_usage": True} if settings.include_usage else None,
    }
    if _is_official(client.base_url) or settings.store:  # other servers do not know the field
        options["store"] = settings.store
    given = {key: value for key, value in options.items() if value is not None}
    extra = settings.extra_body or {}
    quiet = {} if settings.thinking else without_thinking(client.base_url)
    chat = ChatModel(
        client,
        name,
        settings.model,
        given,
        extra,
        quiet={} if quiet.keys() & extra.keys() else quiet,
        conversations=Conversations() if settings.chat_id else None,
    )
    guarded = GuardedModel(chat, name, settings, label=label)
    further = settings.further_markers
    return SharedModel(guarded, client.close, verify=client.verify, markers=further)


def without_thinking(url: str) -> Mapping[str, Any]:
    """Return what tells the server of a vendor not to think, which is silence before each answer.

    By host, since their names of models change; the vendors' documents. Empty: not known of it.
    """
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return {}
    return next((body for name, body in _THINKING.items() if f".{host}".endswith(f".{name}")), {})


_DISABLED: Final = {"thinking": {"type": "disabled"}}
_THINKING: Final[Mapping[str, Mapping[str, Any]]] = {
    "aliyuncs.com": {"enable_thinking": False},
    "siliconflow.cn": {"enable_thinking": False},
    "deepseek.com": _DISABLED,
    "bigmodel.cn": _DISABLED,
    "z.ai": _DISABLED,
    "moonshot.cn": _DISABLED,
    "volces.com": _DISABLED,
}


def _is_official(url: str) -> bool:
    try:
        return urlsplit(url).hostname == "api.openai.com"
    except ValueError:  # no URL at all: the client's making says so
        return False


def litellm_model(name: str, settings: LiteLLMAgentSettings) -> SharedModel:
    """Return a model behind LiteLLM. Raises ProviderUnavailable without the extra."""
    with sdk_import():
        from vixio.providers.openai_agent import sdk_models

        inner = sdk_models.litellm_model(name, settings)
    guarded = GuardedModel(inner, name, settings, label=f"{name}/{settings.model}")
    return SharedModel(guarded, image_outputs=True, markers=settings.further_markers)


def phrasebook_model(name: str, settings: PhraseBookAgentSettings) -> SharedModel:
    """Return the phrase book as a model."""
    inner = PhraseBookModel(settings.language)
    return SharedModel(GuardedModel(inner, name, settings), image_outputs=True)


@dataclass(frozen=True, slots=True)
class ListedModel:
    """One model of a list, on one server: its time limit, its retries, its place."""

    shared: SharedModel
    limit: TimeLimit
    retries: int
    place: Place


def fallback_model(
    parts: Sequence[ListedModel], first_token: float, breaker: BreakerSettings
) -> SharedModel:
    """Return models in their order as one. ``first_token``: seconds for all of them together."""
    candidates = [_candidate(part, breaker) for part in parts]
    model = FallbackModel(candidates, first_token)

    async def close() -> None:
        await asyncio.gather(model.close(), *(part.shared.close() for part in parts))

    async def verify() -> bool:
        outcomes = await asyncio.gather(*(trial(part.shared) for part in parts))
        for candidate, outcome in zip(candidates, outcomes, strict=True):
            if isinstance(outcome, ProviderError):
                ticket = candidate.availability.begin()
                candidate.availability.report(ticket, outcome)
                candidate.availability.over()
        return served(outcomes)

    # Only what all of them take is used: the next one continues from the same items.
    images = all(part.shared.image_outputs for part in parts)
    further = sum((part.shared.markers for part in parts), NOTHING)
    return SharedModel(model, close, images, verify, further)


def _candidate(part: ListedModel, breaker: BreakerSettings) -> ModelCandidate:
    model = part.shared.model
    assert isinstance(model, GuardedModel)  # noqa: S101 - lists within lists are refused before
    availability = Availability(model.label, part.shared, breaker, part.place)
    return ModelCandidate(model, part.limit, availability, part.retries)
