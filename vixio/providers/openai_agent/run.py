"""One turn of the agent loop on the SDK's runner. Importing this imports the SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

from agents import (
    Agent,
    FunctionTool,
    Model,
    ModelSettings,
    RunConfig,
    RunContextWrapper,
    RunHooks,
    RunItemStreamEvent,
    Runner,
    StreamEvent,
    Tool,
    ToolCallItem,
    ToolCallOutputItem,
    set_tracing_disabled,
)
from agents.exceptions import ModelRefusalError
from agents.run import ToolErrorFormatterArgs
from agents.tool_context import ToolContext
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseCreatedEvent,
    ResponseRefusalDeltaEvent,
    ResponseTextDeltaEvent,
)

from vixio.core.chunk import TextDelta, ToolCalled, ToolReturned
from vixio.core.errors import ProviderTimeout, ToolError
from vixio.core.metrics import ModelUse
from vixio.core.tools.types import ToolCallResult
from vixio.providers.agent import AgentEvent, AgentRequest
from vixio.providers.openai_agent.errors import classify
from vixio.providers.openai_agent.fallback_model import PASSED_OVER
from vixio.providers.openai_agent.guarded_model import SERVED_BY
from vixio.providers.openai_agent.history_items import InputItem
from vixio.providers.openai_agent.settings import TurnSettings
from vixio.providers.openai_agent.think import ThinkFilter
from vixio.providers.openai_agent.tools import ConvertedTool, TurnRecord
from vixio.tools.runtime import DIRECT

set_tracing_disabled(True)  # a thread of the SDK would send traces to a cloud service

NoteModel = Callable[[ModelUse], None]
ToolSource = Callable[[], Awaitable[Sequence[FunctionTool]]]


class LiveAgent(Agent[TurnRecord]):
    """An agent that gets its tools from ``source`` at every model call.

    The SDK calls :meth:`get_all_tools` once before each model call, so a list that is replaced
    during a turn is used from the next call on. Assigning ``Agent.tools`` is not possible: the SDK
    refuses it while two runs of one agent overlap, which happens when a reply is interrupted.

    One per turn: it counts the model calls, and forbids tools in the last one.
    """

    def __init__(
        self,
        model: Model,
        instructions: str,
        source: ToolSource,
        limits: TurnSettings,
    ) -> None:
        super().__init__(
            name="assistant",
            instructions=instructions or None,
            model=model,
            model_settings=ModelSettings(),  # the default is a deep copy, made each time
            reset_tool_choice=False,
        )
        self.limits = limits
        self._source = source
        self._calls = 0

    async def get_all_tools(self, run_context: RunContextWrapper[TurnRecord]) -> list[Tool]:
        """Return the current tools."""
        tools: list[Tool] = [*await self._source()]
        self._calls += 1
        if tools and self._calls == self.limits.max_tool_rounds:
            # The SDK reads the settings after this call.
            self.model_settings = replace(self.model_settings, tool_choice="none")
        return tools


class _ToolHooks(RunHooks[TurnRecord]):
    """Measures each call separately: the SDK reports the results of one round together.

    A call that does not go through the turn's runner waits here for the commit.
    """

    async def on_tool_start(
        self, context: RunContextWrapper[TurnRecord], agent: Agent[TurnRecord], tool: Tool
    ) -> None:
        if not isinstance(tool, ConvertedTool) or context.context.runner is DIRECT:
            await context.context.committed()
        if isinstance(context, ToolContext):
            context.context.seconds[context.tool_call_id] = -asyncio.get_running_loop().time()

    async def on_tool_end(
        self,
        context: RunContextWrapper[TurnRecord],
        agent: Agent[TurnRecord],
        tool: Tool,
        result: object,
    ) -> None:
        if isinstance(context, ToolContext):
            context.context.seconds[context.tool_call_id] += asyncio.get_running_loop().time()


def _explain_failure(details: ToolErrorFormatterArgs[TurnRecord]) -> str:
    """Return the error of a call that no converted tool handled."""
    details.run_context.context.failed.add(details.call_id)
    if details.kind == "tool_not_found":
        error = ToolError("not_found", f"there is no tool {details.tool_name}")
    else:
        error = ToolError("failed", details.default_message)
    return ToolCallResult.failure(error, details.call_id).for_model()


_RUN_CONFIG = RunConfig(
    tracing_disabled=True,
    tool_not_found_behavior="return_error_to_model",
    tool_error_formatter=_explain_failure,
)


async def run_turn(
    agent: LiveAgent,
    items: list[InputItem],
    request: AgentRequest,
    provider: str,
) -> AsyncIterator[AgentEvent]:
    """Run the agent on ``items``, the conversation with ``request`` at its end.

    Closing the iterator cancels model and tools and waits until they are gone. Only the time spent
    waiting for the agent counts towards the turn's limit, not the reader's. Raises ProviderError.
    """
    record = TurnRecord()
    record.runner = request.runner or record.runner
    record.committed = request.committed or record.committed
    limits = agent.limits
    result = Runner.run_streamed(
        agent,
        cast(Any, items),
        context=record,
        max_turns=limits.max_tool_rounds,
        hooks=_ToolHooks(),
        run_config=_RUN_CONFIG,
    )
    events = cast(AsyncGenerator[StreamEvent, None], result.stream_events())
    translate = _Translator(request.turn_id, record, request.note_model)
    left = limits.turn_timeout
    loop = asyncio.get_running_loop()
    try:
        async with aclosing(events):
            try:
                while True:
                    began = loop.time()
                    timer = asyncio.timeout(left)
                    try:
                        async with timer:
                            event = await anext(events)
                    except StopAsyncIteration:
                        return
                    except TimeoutError as error:
                        if timer.expired():
                            late = ProviderTimeout(provider, "whole answer", limits.turn_timeout)
                            raise late from error
                        raise
                    left -= loop.time() - began
                    for out in translate(event):
                        yield out
            except ModelRefusalError:
                return  # the refusal was passed on as text
            except Exception as error:  # reason: the SDK raises anything; classified here
                raise classify(provider, error) from error
            finally:
                # Before `events` is closed: closing alone does not stop the run.
                result.cancel()
    finally:
        if result.run_loop_task is not None:
            await asyncio.wait([result.run_loop_task])


class _Translator:
    """Turns the SDK's events into the core's chunks."""

    def __init__(self, turn_id: int, record: TurnRecord, note_model: NoteModel | None) -> None:
        self._turn_id = turn_id
        self._note_model = note_model
        self._record = record
        self._think = ThinkFilter()

    def __call__(self, event: StreamEvent) -> list[AgentEvent]:
        if event.type == "raw_response_event":
            text = self._text_of(event.data)
            if self._note_model is not None and isinstance(event.data, ResponseCompletedEvent):
                self._note_model(_model_use(event.data.response))
            return [TextDelta(self._turn_id, text)] if text else []
        if isinstance(event, RunItemStreamEvent):
            if isinstance(event.item, ToolCallItem):
                return [self._called(event.item)]
            if isinstance(event.item, ToolCallOutputItem):
                return [self._returned(event.item)]
        return []

    def _text_of(self, data: object) -> str:
        if isinstance(data, ResponseCreatedEvent):
            self._think = ThinkFilter()
        elif isinstance(data, ResponseTextDeltaEvent):
            return self._think.feed(data.delta)
        elif isinstance(data, ResponseRefusalDeltaEvent):
            return data.delta
        elif isinstance(data, ResponseCompletedEvent):
            return self._think.finish()
        return ""

    def _called(self, item: ToolCallItem) -> ToolCalled:
        raw = cast(Any, item.raw_item)  # only function tools are ever offered
        return ToolCalled(self._turn_id, raw.call_id, raw.name, raw.arguments)

    def _returned(self, item: ToolCallOutputItem) -> ToolReturned:
        call_id = str(cast(Any, item.raw_item)["call_id"])
        return ToolReturned(
            turn_id=self._turn_id,
            call_id=call_id,
            output=_plain(item.output),
            success=call_id not in self._record.failed,
            seconds=max(0.0, self._record.seconds.get(call_id, 0.0)),
        )


def _plain(output: object) -> str:
    """Return a tool's output as text; an image becomes a placeholder, as histories keep none."""
    if isinstance(output, list):
        return "\n".join(str(getattr(part, "text", "[image]")) for part in output)
    return str(output)


def _model_use(response: Response) -> ModelUse:
    notes = response.metadata or {}
    usage = response.usage
    details = usage.input_tokens_details if usage else None
    passed_over = notes.get(PASSED_OVER, "")
    return ModelUse(
        notes.get(SERVED_BY, str(response.model)),
        usage.input_tokens if usage else 0,
        usage.output_tokens if usage else 0,
        (details.cached_tokens or 0) if details else 0,
        tuple(passed_over.split("\n")) if passed_over else (),
    )
