"""One turn of the agent loop: model calls, and the tools between them. Cheap to import.

The agent SDK has such a loop too. This one does what a voice turn needs and no more (no handoffs,
guardrails, traces or copies of the conversation): with the SDK's, a turn took several times the
processor time, and the first answer waited for its import (docs/engineering/performance.md).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from uuid import uuid4

from vixio.core.chunk import TextDelta, ToolCalled, ToolReturned
from vixio.core.clock import now
from vixio.core.errors import ProviderError, ProviderTimeout, ToolError
from vixio.core.streams import STEADY_S
from vixio.core.tools.runner import DIRECT
from vixio.core.tools.types import ToolCallResult
from vixio.core.watchdog import Watchdog
from vixio.language.model_output import NOTHING, Further
from vixio.language.model_output.markers import markers as table
from vixio.language.model_output.reader import OutputReader
from vixio.language.model_output.written_calls import WrittenCall
from vixio.providers.agent import AgentEvent, AgentRequest
from vixio.providers.openai_agent.fallback_model import without_private
from vixio.providers.openai_agent.model import Answer, Item, Model, ModelCall, ModelTool
from vixio.providers.openai_agent.offered import OfferedTools
from vixio.providers.openai_agent.settings import TurnSettings

_log = logging.getLogger(__name__)

T = TypeVar("T")

UNREAD: Final = (
    "[You wrote a tool call as text, and it could not be read. Nothing was done. Call tools by the "
    "interface for tools, or answer in words.]"
)
"""What a model is told, once a turn, of a call that it wrote as text; a message of the user, not of
the system, as :data:`~vixio.providers.openai_agent.history_items.SUMMARY_HEAD`."""

ToolList = Callable[[], Awaitable[Sequence[ModelTool]]]


@dataclass(frozen=True, slots=True)
class _Round:
    """One model call: what it adds to the conversation, and its calls.

    ``unread``: whether the model wrote as text what can be no call of an offered tool.
    """

    items: Sequence[Item]
    calls: Sequence[Item]
    unread: bool


class TurnLoop:
    """One turn of ``provider``'s agent on ``model``.

    ``tools``: asked before each model call, so that a list that is replaced during the turn is used
    from the next call on. ``image_outputs``: give the model the images of tools; otherwise they are
    only mentioned in the text. ``markers``: what else is left out of the model's text.
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
        markers: Further = NOTHING,
    ) -> None:
        self._provider = provider
        self._model = model
        self._tools = tools
        self._limits = limits
        self._request = request
        self._image_outputs = image_outputs
        self._markers = table(markers)
        self._left = limits.turn_timeout
        self._said = float("-inf")
        """When words came last."""
        self._watchdog = Watchdog()

    async def run(self, instructions: str, items: Sequence[Item]) -> AsyncIterator[AgentEvent]:
        """Answer ``items``, the conversation with the request at its end.

        Closing the iterator cancels model and tools and waits until they are gone. Only the time
        spent waiting for the model counts towards the turn's limit: tools have limits of their own,
        the reader may take its time, and nobody waits while words come steadily. Raises
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
        corrected = False
        while may_call:
            rounds += 1
            may_call = rounds < self._limits.max_tool_rounds
            offered = OfferedTools(await self._timed(self._tools()))
            language = self._request.voice or self._request.language
            call = ModelCall(
                instructions,
                tuple(conversation),
                offered.tools,
                may_call,
                language,
                self._request.device_id,
            )
            calls: Sequence[Item] = ()
            unread = False
            async with aclosing(self._asked(call, offered)) as parts:
                async for part in parts:
                    if isinstance(part, str):
                        yield TextDelta(turn_id, part)
                        continue
                    conversation += part.items
                    calls, unread = part.calls, part.unread
            if unread and not calls and may_call and not corrected:
                corrected = True  # once: a model that goes on like this never ends
                conversation.append({"role": "user", "content": UNREAD})
                continue
            if not calls:
                return
            if not may_call:
                break
            async with aclosing(self._called(calls, offered)) as events:
                async for event, output in events:
                    conversation += output
                    yield event
        raise ProviderError(self._provider, "too many rounds of tool calls", retryable=False)

    async def _asked(
        self, call: ModelCall, offered: OfferedTools
    ) -> AsyncGenerator[str | _Round, None]:
        """Yield the words of one model call that are for the user, then the whole of it."""
        reader = offered.reader(self._markers)
        said: list[str] = []
        async with aclosing(self._model.stream(call)) as stream:
            while True:
                event = await self._timed(anext(stream))
                if isinstance(event, Answer):
                    break
                if text := event.text if event.refusal else reader.feed(event.text):
                    said.append(text)
                    yield text
                    self._said = now()
        if text := reader.finish():
            said.append(text)
            yield text
        if self._request.note_model is not None:
            self._request.note_model(event.use)
        if reader.calls or reader.unread:
            tools = [each.name for each in reader.calls]
            _log.info("tool call written as text", extra={"model": event.use.model, "tools": tools})
        yield self._read(event, reader, offered, "".join(said))

    def _read(
        self, answer: Answer, reader: OutputReader, offered: OfferedTools, said: str
    ) -> _Round:
        """Return an answer as it goes on in the conversation: as the user got it, with its calls.

        A model that sees its own markers, or a call among its words, writes the next in that way.
        """
        if not reader.altered:
            return _Round(answer.items, answer.calls, unread=False)
        written = [_item(each, tool) for each in reader.calls if (tool := offered.find(each.name))]
        kept = answer.items
        if any("id" in item for item in kept):  # they belong to a message that is replaced
            kept = without_private(kept)
        first = [item for item in kept if item.get("type") == "reasoning"]
        words = [{"role": "assistant", "content": said.strip()}] if said.strip() else []
        items = [*first, *words, *answer.calls, *written]
        unread = reader.unread > 0 or len(written) < len(reader.calls)
        return _Round(items, [*answer.calls, *written], unread)

    async def _called(
        self, calls: Sequence[Item], tools: OfferedTools
    ) -> AsyncGenerator[tuple[ToolCalled | ToolReturned, Sequence[Item]], None]:
        """Run the calls at the same time; yield all of them, then their results in their order.

        With each what it adds to the conversation.
        """
        found = [tools.find(made["name"]) for made in calls]
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
                yield await task
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
            runner = self._request.runner
            if runner is None:
                runner = DIRECT
                if self._request.committed is not None:
                    await self._request.committed()
            result = await runner.run(tool.definition, made["arguments"], call_id)
        except ToolError as error:
            result = ToolCallResult.failure(error, call_id)
        seconds = loop.time() - began
        text, output = self._output(result)
        item = {"type": "function_call_output", "call_id": call_id, "output": output}
        turn_id = self._request.turn_id
        returned = ToolReturned(turn_id, call_id, text, result.success, seconds, result.error_type)
        return returned, (item,)

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
        began = max(now(), self._said + STEADY_S)
        try:
            with self._watchdog.until(began + self._left):
                return await work
        except TimeoutError as error:
            if not self._watchdog.expired:
                raise
            limit = self._limits.turn_timeout
            raise ProviderTimeout(self._provider, "whole answer", limit) from error
        finally:
            self._left -= max(0.0, now() - began)


def _item(call: WrittenCall, tool: ModelTool) -> Item:
    return {
        "type": "function_call",
        "call_id": f"call_{uuid4().hex[:24]}",
        "name": tool.name,
        "arguments": call.arguments,
    }
