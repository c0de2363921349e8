"""One turn of the agent loop: model calls, and the tools between them. Cheap to import.

The agent SDK has such a loop too. This one does what a voice turn needs and no more (no handoffs,
guardrails, traces or copies of the conversation): with the SDK's, a turn took several times the
processor time, and the first answer waited for its import (docs/engineering/performance.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

from vixio.core.chunk import TextDelta, ToolCalled, ToolReturned
from vixio.core.errors import ProviderError, ProviderTimeout, ToolError
from vixio.core.tools.types import ToolCallResult, ToolDefinition
from vixio.core.watchdog import Watchdog
from vixio.providers.agent import AgentEvent, AgentRequest
from vixio.providers.openai_agent.model import Answer, Item, Model, ModelCall, ModelTool
from vixio.providers.openai_agent.offered import OfferedTools
from vixio.providers.openai_agent.settings import TurnSettings
from vixio.providers.openai_agent.think import ThinkFilter
from vixio.tools.runtime import DIRECT

T = TypeVar("T")

ToolList = Callable[[], Awaitable[Sequence[ModelTool]]]


class TurnLoop:
    """One turn of ``provider``'s agent on ``model``.

    ``tools``: asked before each model call, so that a list that is replaced during the turn is used
    from the next call on. ``image_outputs``: give the model the images of tools; otherwise they are
    only mentioned in the text.
    """

    def __init__(
        self,
        provider: str,
        model: Model,
        tools: ToolList,
        limits: TurnSettings,
        request: AgentRequest,
        *,
        image_outputs: bool = False,
    ) -> None:
        self._provider = provider
        self._model = model
        self._tools = tools
        self._limits = limits
        self._request = request
        self._image_outputs = image_outputs
        self._left = limits.turn_timeout
        self._watchdog = Watchdog()

    async def run(self, instructions: str, items: Sequence[Item]) -> AsyncIterator[AgentEvent]:
        """Answer ``items``, the conversation with the request at its end.

        Closing the iterator cancels model and tools and waits until they are gone. Only the time
        spent waiting for the agent counts towards the turn's limit, not the reader's. Raises
        ProviderError.
        """
        try:
            async with aclosing(self._rounds(instructions, list(items))) as events:
                async for event in events:
                    yield event
        finally:
            self._watchdog.close()

    async def _rounds(
        self, instructions: str, conversation: list[Item]
    ) -> AsyncGenerator[AgentEvent, None]:
        turn_id = self._request.turn_id
        may_call = True
        rounds = 0
        while may_call:
            rounds += 1
            may_call = rounds < self._limits.max_tool_rounds
            offered = await self._timed(self._tools())
            language = self._request.language
            call = ModelCall(instructions, tuple(conversation), offered, may_call, language)
            calls: Sequence[Item] = ()
            async with aclosing(self._asked(call)) as parts:
                async for part in parts:
                    if isinstance(part, str):
                        yield TextDelta(turn_id, part)
                        continue
                    conversation += part.items
                    calls = part.calls
            if not calls:
                return
            if not may_call:
                break
            async with aclosing(self._called(calls, offered)) as events:
                async for event, output in events:
                    conversation += output
                    yield event
        raise ProviderError(self._provider, "too many rounds of tool calls", retryable=False)

    async def _asked(self, call: ModelCall) -> AsyncGenerator[str | Answer, None]:
        """Yield the words of one model call without the model's reasoning, then its answer."""
        think = ThinkFilter()
        async with aclosing(self._model.stream(call)) as stream:
            while True:
                event = await self._timed(anext(stream))
                if isinstance(event, Answer):
                    break
                if text := event.text if event.refusal else think.feed(event.text):
                    yield text
        if text := think.finish():
            yield text
        if self._request.note_model is not None:
            self._request.note_model(event.use)
        yield event

    async def _called(
        self, calls: Sequence[Item], offered: Sequence[ModelTool]
    ) -> AsyncGenerator[tuple[ToolCalled | ToolReturned, Sequence[Item]], None]:
        """Run the calls at the same time; yield all of them, then their results in their order.

        With each what it adds to the conversation.
        """
        tools = OfferedTools(offered)
        found = [tools.find(made["name"]) for made in calls]
        own_time = any(tool is not None and tool.definition.options.own_time for tool in found)
        tasks = [
            asyncio.create_task(self._result(made, tool, tools))
            for made, tool in zip(calls, found, strict=True)
        ]
        try:
            for made, tool in zip(calls, found, strict=True):
                what = made["call_id"], made["name"], made["arguments"]
                source = tool.definition.source if tool is not None else ""
                yield ToolCalled(self._request.turn_id, *what, source), ()
            for task in tasks:
                yield await (task if own_time else self._timed(task))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _result(
        self, made: Item, tool: ModelTool | None, offered: OfferedTools
    ) -> tuple[ToolReturned, Sequence[Item]]:
        loop = asyncio.get_running_loop()
        began = loop.time()
        call_id: str = made["call_id"]
        try:
            if tool is None:
                raise offered.unknown(made["name"])
            result = await self._run(tool.definition, made["arguments"], call_id)
        except ToolError as error:
            result = ToolCallResult.failure(error, call_id)
        seconds = loop.time() - began
        text, output = self._output(result)
        item = {"type": "function_call_output", "call_id": call_id, "output": output}
        turn_id = self._request.turn_id
        return ToolReturned(turn_id, call_id, text, success=result.success, seconds=seconds), (
            item,
        )

    async def _run(self, tool: ToolDefinition, arguments: str, call_id: str) -> ToolCallResult:
        request = self._request
        if request.runner is not None:
            return await request.runner.run(tool, arguments, call_id)
        if request.committed is not None:
            await request.committed()
        return await DIRECT.run(tool, arguments, call_id)

    def _output(self, result: ToolCallResult) -> tuple[str, str | list[dict[str, Any]]]:
        """Return a result as text, for the history, and as the model gets it."""
        if not (result.images and self._image_outputs):
            text = result.in_words()
            return text, text
        text = result.for_model() or "The image:"
        parts: list[dict[str, Any]] = [{"type": "input_text", "text": text}]
        parts += [{"type": "input_image", "image_url": image.url} for image in result.images]
        return "\n".join((text, *("[image]" for _ in result.images))), parts

    async def _timed(self, work: Awaitable[T]) -> T:
        """Await ``work`` within what is left of the turn's time. Raises ProviderTimeout."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            with self._watchdog.until(began + self._left):
                return await work
        except TimeoutError as error:
            if not self._watchdog.expired:
                raise
            limit = self._limits.turn_timeout
            raise ProviderTimeout(self._provider, "whole answer", limit) from error
        finally:
            self._left -= loop.time() - began
