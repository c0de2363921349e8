"""Converts a finished output item to the stream of events of a model's server."""

from __future__ import annotations

from collections.abc import Iterator

from agents.items import TResponseStreamEvent
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseContentPartAddedEvent,
    ResponseContentPartDoneEvent,
    ResponseCreatedEvent,
    ResponseFunctionCallArgumentsDeltaEvent,
    ResponseFunctionCallArgumentsDoneEvent,
    ResponseFunctionToolCall,
    ResponseOutputItemAddedEvent,
    ResponseOutputItemDoneEvent,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
    ResponseTextDoneEvent,
)


def response_events(
    item: ResponseOutputMessage | ResponseFunctionToolCall, model: str, created_at: float
) -> Iterator[TResponseStreamEvent]:
    """Yield the events: created, the item in one piece, completed. ``created_at``: Unix time."""
    response = Response(
        id=f"resp_{item.id}",
        created_at=created_at,
        model=model,
        object="response",
        output=[],
        parallel_tool_calls=False,
        tool_choice="auto",
        tools=[],
    )
    yield ResponseCreatedEvent(type="response.created", response=response, sequence_number=0)
    if isinstance(item, ResponseFunctionToolCall):
        yield from _call(item)
    else:
        yield from _message(item)
    yield ResponseCompletedEvent(
        type="response.completed",
        response=response.model_copy(update={"output": [item]}),
        sequence_number=8,
    )


def _call(item: ResponseFunctionToolCall) -> Iterator[TResponseStreamEvent]:
    item_id = item.id or ""
    yield ResponseOutputItemAddedEvent(
        type="response.output_item.added",
        item=item.model_copy(update={"arguments": ""}),
        output_index=0,
        sequence_number=1,
    )
    yield ResponseFunctionCallArgumentsDeltaEvent(
        type="response.function_call_arguments.delta",
        delta=item.arguments,
        item_id=item_id,
        output_index=0,
        sequence_number=2,
    )
    yield ResponseFunctionCallArgumentsDoneEvent(
        type="response.function_call_arguments.done",
        arguments=item.arguments,
        item_id=item_id,
        output_index=0,
        sequence_number=3,
    )
    yield ResponseOutputItemDoneEvent(
        type="response.output_item.done", item=item, output_index=0, sequence_number=4
    )


def _message(item: ResponseOutputMessage) -> Iterator[TResponseStreamEvent]:
    text = "".join(part.text for part in item.content if isinstance(part, ResponseOutputText))
    empty = ResponseOutputText(type="output_text", text="", annotations=[], logprobs=[])
    whole = empty.model_copy(update={"text": text})
    yield ResponseOutputItemAddedEvent(
        type="response.output_item.added",
        item=item.model_copy(update={"content": [], "status": "in_progress"}),
        output_index=0,
        sequence_number=1,
    )
    yield ResponseContentPartAddedEvent(
        type="response.content_part.added",
        part=empty,
        item_id=item.id,
        content_index=0,
        output_index=0,
        sequence_number=2,
    )
    yield ResponseTextDeltaEvent(
        type="response.output_text.delta",
        delta=text,
        item_id=item.id,
        content_index=0,
        output_index=0,
        logprobs=[],
        sequence_number=3,
    )
    yield ResponseTextDoneEvent(
        type="response.output_text.done",
        text=text,
        item_id=item.id,
        content_index=0,
        output_index=0,
        logprobs=[],
        sequence_number=4,
    )
    yield ResponseContentPartDoneEvent(
        type="response.content_part.done",
        part=whole,
        item_id=item.id,
        content_index=0,
        output_index=0,
        sequence_number=5,
    )
    yield ResponseOutputItemDoneEvent(
        type="response.output_item.done", item=item, output_index=0, sequence_number=6
    )
