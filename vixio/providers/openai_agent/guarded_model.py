"""A model behind time limits, retries and error classification. Importing this imports the SDK."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, cast
from uuid import uuid4

from agents import Model, ModelResponse, ModelSettings, ModelTracing, Tool
from agents.agent_output import AgentOutputSchemaBase
from agents.handoffs import Handoff
from agents.items import TResponseInputItem, TResponseStreamEvent
from loguru import logger
from openai.types.responses import ResponseCompletedEvent, ResponseFunctionToolCall
from openai.types.responses.response_prompt_param import ResponsePromptParam

from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.providers.openai_agent.errors import classify, retry_after
from vixio.providers.openai_agent.settings import TurnSettings

_BACKOFF = 0.3
"""Seconds before the first retry; doubled for each further one."""

_LONGEST_WAIT = 2.0
"""A server that asks for a longer pause is not asked again in this turn: somebody is waiting."""


class GuardedModel(Model):
    """Delegates to ``inner``; what it raises is a ProviderError.

    A request is tried again only before its first event: afterwards words have been spoken.
    """

    def __init__(self, inner: Model, name: str, limits: TurnSettings) -> None:
        self._inner = inner
        self._name = name
        self._limits = limits

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff[Any, Any]],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: ResponsePromptParam | None,
    ) -> ModelResponse:
        """Answer in one piece."""
        try:
            async with asyncio.timeout(self._limits.turn_timeout):
                return await self._inner.get_response(
                    system_instructions,
                    input,
                    model_settings,
                    tools,
                    output_schema,
                    handoffs,
                    tracing,
                    previous_response_id=previous_response_id,
                    conversation_id=conversation_id,
                    prompt=prompt,
                )
        except TimeoutError as error:
            raise ProviderTimeout(self._name, "answer", self._limits.turn_timeout) from error
        except Exception as error:  # reason: vendors' clients raise anything; classified here
            raise self._classified(error) from error

    async def stream_response(
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff[Any, Any]],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: ResponsePromptParam | None,
    ) -> AsyncIterator[TResponseStreamEvent]:
        """Answer as it comes."""
        retries = self._limits.retries
        delay = _BACKOFF
        deadline = asyncio.get_running_loop().time() + self._limits.first_token_timeout
        while True:
            stream = cast(
                AsyncGenerator[TResponseStreamEvent, None],
                self._inner.stream_response(
                    system_instructions,
                    input,
                    model_settings,
                    tools,
                    output_schema,
                    handoffs,
                    tracing,
                    previous_response_id=previous_response_id,
                    conversation_id=conversation_id,
                    prompt=prompt,
                ),
            )
            begun = False
            async with aclosing(stream):
                try:
                    async for event in self._timed(stream, deadline):
                        begun = True
                        if isinstance(event, ResponseCompletedEvent):
                            _tell_calls_apart(event, input)
                        yield event
                    return
                except Exception as error:  # reason: vendors' clients raise anything
                    failure = self._classified(error)
                    wait = max(delay, retry_after(error) or 0.0)
                    if begun or retries == 0 or not failure.retryable or wait > _LONGEST_WAIT:
                        raise failure from error
                    if isinstance(failure, ProviderTimeout):
                        raise failure from error
            logger.bind(provider=self._name, error=str(failure)).info("model request tried again")
            retries -= 1
            await asyncio.sleep(wait * random.uniform(0.8, 1.2))  # noqa: S311 - jitter, no secret
            delay *= 2

    async def _timed(
        self, stream: AsyncIterator[TResponseStreamEvent], deadline: float
    ) -> AsyncIterator[TResponseStreamEvent]:
        """Pass ``stream`` on; its first event has to come before ``deadline``."""
        what, seconds = "first token", self._limits.first_token_timeout
        while True:
            timer = asyncio.timeout_at(deadline)
            try:
                async with timer:
                    event = await anext(stream)
            except StopAsyncIteration:
                return
            except TimeoutError as error:
                if timer.expired():
                    raise ProviderTimeout(self._name, what, seconds) from error
                raise
            yield event
            what, seconds = "further token", self._limits.stall_timeout
            deadline = asyncio.get_running_loop().time() + seconds

    def _classified(self, error: Exception) -> ProviderError:
        return classify(self._name, error, self._limits.first_token_timeout)


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
