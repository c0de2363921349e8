"""A model behind time limits, retries and error classification. Importing this imports the SDK."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from uuid import uuid4

from agents import Model, ModelSettings
from agents.items import TResponseInputItem, TResponseStreamEvent
from openai.types.responses import (
    ResponseCompletedEvent,
    ResponseErrorEvent,
    ResponseFailedEvent,
    ResponseFunctionToolCall,
    ResponseIncompleteEvent,
    ResponseOutputItemDoneEvent,
    ResponseRefusalDeltaEvent,
    ResponseTextDeltaEvent,
)

from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.core.generators import closing_all
from vixio.providers.openai_agent.errors import classify
from vixio.providers.openai_agent.model_call import CallModel, EventStream, ModelCall
from vixio.providers.openai_agent.settings import TurnSettings
from vixio.providers.openai_errors import classify_code

_log = logging.getLogger(__name__)

_BACKOFF = 0.3
"""Seconds before the first retry; doubled for each further one."""

_LONGEST_WAIT = 2.0
"""A server that asks for a longer pause is not asked again in this turn: somebody is waiting."""

SERVED_BY = "vixio.model"
"""The key under which a completed response's metadata names the model that wrote it."""

Items = list[TResponseInputItem]


class GuardedModel(CallModel):
    """Delegates to ``inner``; what it raises is a ProviderError.

    A request is tried again only before its first token: the first words, refusal or whole tool
    call. What comes before (ids, reasoning) is held back until then, so that whoever listens has
    seen nothing of an answer that failed earlier. ``label`` names the model to people, ``settings``
    are its own and give way to the call's, ``fit`` makes the input what its API takes.
    """

    def __init__(
        self,
        inner: Model,
        name: str,
        limits: TurnSettings,
        *,
        label: str = "",
        settings: ModelSettings | None = None,
        fit: Callable[[Items], Items] | None = None,
    ) -> None:
        self.label = label or name
        self._inner = inner
        self._name = name
        self._limits = limits
        self._settings = settings or ModelSettings()
        self._fit = fit

    def stream(self, call: ModelCall) -> EventStream:
        """Answer within the model's own limits."""
        return self.attempt(call, self._limits.first_token_timeout, self._limits.retries)

    async def attempt(self, call: ModelCall, first_token: float, retries: int) -> EventStream:
        """Answer; the first token has to come within ``first_token`` seconds, retries included."""
        call = self._prepared(call)
        delay = _BACKOFF
        loop = asyncio.get_running_loop()
        deadline = loop.time() + first_token
        while True:
            begun = False
            try:
                async with aclosing(self._answer(call, deadline, first_token)) as answer:
                    async for event in answer:
                        begun = True
                        yield event
                return
            except Exception as error:  # reason: vendors' clients raise anything
                failure = classify(self._name, error, first_token)
                wait = max(delay, failure.retry_after or 0.0) * random.uniform(1.0, 1.3)  # noqa: S311 - jitter, no secret
                if (
                    begun
                    or retries == 0
                    or not failure.retryable
                    or isinstance(failure, ProviderTimeout)
                    or wait > _LONGEST_WAIT
                    or loop.time() + wait >= deadline
                ):
                    raise failure from error
            _log.info(
                "model request tried again", extra={"model": self.label, "error": str(failure)}
            )
            retries -= 1
            await asyncio.sleep(wait)
            delay *= 2

    async def _answer(self, call: ModelCall, deadline: float, first_token: float) -> EventStream:
        """Pass one answer on from its first token, which has to come before ``deadline``."""
        held: list[TResponseStreamEvent] = []
        begun = False
        async with closing_all(call.stream(self._inner)) as stream:
            while True:
                timer = asyncio.timeout_at(deadline)
                try:
                    async with timer:
                        event = self._checked(await anext(stream))
                except StopAsyncIteration:
                    what = "the answer broke off"
                    raise ProviderError(self._name, what, reason="service") from None
                except TimeoutError as error:
                    if timer.expired():
                        raise self._late(begun, first_token) from error
                    raise
                held.append(event)
                begun = begun or _is_token(event)
                if not begun:
                    continue
                if isinstance(event, ResponseCompletedEvent):
                    _tell_calls_apart(event, call.input)
                    _sign(event, self.label)
                for each in held:
                    yield each
                if isinstance(event, ResponseCompletedEvent):
                    return
                held.clear()
                deadline = asyncio.get_running_loop().time() + self._limits.stall_timeout

    def _late(self, begun: bool, first_token: float) -> ProviderTimeout:
        if begun:
            return ProviderTimeout(self._name, "further token", self._limits.stall_timeout)
        return ProviderTimeout(self._name, "first token", first_token)

    def _prepared(self, call: ModelCall) -> ModelCall:
        settings = self._settings.resolve(call.model_settings)
        items = call.input
        if self._fit is not None and not isinstance(items, str):
            items = self._fit(items)
        return replace(call, model_settings=settings, input=items)

    def _checked(self, event: TResponseStreamEvent) -> TResponseStreamEvent:
        """Return ``event``; raises what the server reports in it (the Responses API does)."""
        if isinstance(event, ResponseErrorEvent):
            raise classify_code(self._name, event.code or "", event.message)
        if isinstance(event, ResponseFailedEvent):
            error = event.response.error
            raise classify_code(
                self._name, error.code if error else "", error.message if error else "no answer"
            )
        if isinstance(event, ResponseIncompleteEvent):
            # Cut by max_tokens or a filter: what was said stands, as with Chat Completions.
            return ResponseCompletedEvent(
                type="response.completed",
                response=event.response,
                sequence_number=event.sequence_number,
            )
        return event


def _is_token(event: TResponseStreamEvent) -> bool:
    """Is this the first thing that somebody hears, or a call that is carried out?"""
    match event:
        case ResponseTextDeltaEvent() | ResponseRefusalDeltaEvent():
            return bool(event.delta)
        case ResponseOutputItemDoneEvent():
            return isinstance(event.item, ResponseFunctionToolCall)
    return isinstance(event, ResponseCompletedEvent)


def _sign(event: ResponseCompletedEvent, label: str) -> None:
    event.response.metadata = {**(event.response.metadata or {}), SERVED_BY: label}


def _tell_calls_apart(event: ResponseCompletedEvent, input: str | list[TResponseInputItem]) -> None:
    """Give calls without an id, or with one of an earlier call, an id of their own.

    Some servers number the calls of each answer from zero, and the SDK takes a call whose id it has
    seen for a repetition that need not run again.
    """
    seen = {
        str(item.get("call_id"))
        for item in (input if isinstance(input, list) else ())
        if item.get("type") == "function_call"
    }
    for item in event.response.output:
        if isinstance(item, ResponseFunctionToolCall):
            if not item.call_id or item.call_id in seen:
                item.call_id = f"call_{uuid4().hex[:24]}"
            seen.add(item.call_id)
