"""A model behind time limits, retries and error classification. Importing this imports the SDK."""

from __future__ import annotations

import asyncio
import logging
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

from vixio.core.backoff import Backoff
from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.core.generators import closing_all
from vixio.providers.openai_agent.errors import classify
from vixio.providers.openai_agent.model_call import CallModel, EventStream, ModelCall
from vixio.providers.openai_agent.settings import TurnSettings
from vixio.providers.openai_status import of_code

_log = logging.getLogger(__name__)

_LONGEST_WAIT = 2.0
"""Seconds. If a server asks for a longer pause, it is not retried in this turn: the user waits."""

_RETRY = Backoff(first=0.3, longest=2 * _LONGEST_WAIT, jitter=0.1)

SERVED_BY = "vixio.model"
"""The metadata key of a completed response for the name of the model that wrote it."""

Items = list[TResponseInputItem]


class GuardedModel(CallModel):
    """Delegates to ``inner`` with time limits and retries. Raises ProviderError.

    A request is retried only before its first token: the first words, refusal or whole tool call.
    Earlier events (ids, reasoning) are held back until then, so that the reader sees nothing of an
    answer that failed before it. ``label``: the model's name in messages. ``settings``: the model's
    own, which the call's override. ``fit``: adapts the input to the model's API.
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
        """Stream the answer, within the model's own limits."""
        return self.attempt(call, self._limits.first_token_timeout, self._limits.retries)

    async def attempt(self, call: ModelCall, first_token: float, retries: int) -> EventStream:
        """Stream the answer; its first token is due in ``first_token`` seconds, with retries."""
        call = self._prepared(call)
        failures = 0
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
                failures += 1
                wait = max(_RETRY.delay(failures), failure.retry_after or 0.0)
                if (
                    begun
                    or retries == 0
                    or not failure.retryable
                    or isinstance(failure, ProviderTimeout)
                    or wait > _LONGEST_WAIT
                    or loop.time() + wait >= deadline
                ):
                    raise failure from error
            _log.info("model request retried", extra={"model": self.label, "error": str(failure)})
            retries -= 1
            await asyncio.sleep(wait)

    async def _answer(self, call: ModelCall, deadline: float, first_token: float) -> EventStream:
        """Pass on one answer from its first token, which is due at ``deadline``."""
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
        """Return ``event``. Raises an error that it reports, as in the Responses API."""
        if isinstance(event, ResponseErrorEvent):
            raise of_code(self._name, event.code or "", event.message)
        if isinstance(event, ResponseFailedEvent):
            error = event.response.error
            raise of_code(
                self._name, error.code if error else "", error.message if error else "no answer"
            )
        if isinstance(event, ResponseIncompleteEvent):
            # Cut by max_tokens or a filter: the text so far is the answer, as in Chat Completions.
            return ResponseCompletedEvent(
                type="response.completed",
                response=event.response,
                sequence_number=event.sequence_number,
            )
        return event


def _is_token(event: TResponseStreamEvent) -> bool:
    """Whether the event has an effect: words for the user, or a complete tool call."""
    match event:
        case ResponseTextDeltaEvent() | ResponseRefusalDeltaEvent():
            return bool(event.delta)
        case ResponseOutputItemDoneEvent():
            return isinstance(event.item, ResponseFunctionToolCall)
    return isinstance(event, ResponseCompletedEvent)


def _sign(event: ResponseCompletedEvent, label: str) -> None:
    event.response.metadata = {**(event.response.metadata or {}), SERVED_BY: label}


def _tell_calls_apart(event: ResponseCompletedEvent, input: str | list[TResponseInputItem]) -> None:
    """Give a new id to a call without an id, or with the id of an earlier call.

    Some servers number the calls of each answer from zero, and the SDK does not run a call whose id
    it has seen before.
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
