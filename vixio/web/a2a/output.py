"""What a task tells its client: its state, the pieces of its answer, the calls it waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC
from typing import Any, Final
from uuid import uuid4

from a2a.helpers.proto_helpers import new_data_part
from a2a.server.events import EventQueue
from a2a.types import (
    Artifact,
    Message,
    Part,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)

from vixio.core.clock import now
from vixio.core.wall_clock import date_time
from vixio.core.well_formed import well_formed
from vixio.web.a2a.client_tools import Call

FLUSH_S: Final = 0.05
"""Words that come within it are one event: a task is copied with each."""

CALLING: Final = "Waiting for the results of your tools."


class Output:
    """The events of one task, in order. Its methods may be called from several asyncio tasks."""

    def __init__(self, queue: EventQueue, task_id: str, context_id: str) -> None:
        self.queue = queue
        self._task_id = task_id
        self._context_id = context_id
        self._lock = asyncio.Lock()
        self._unsent = ""
        self._artifact = ""
        self._sent_at = float("-inf")
        self._flushing: asyncio.Task[None] | None = None

    async def begin(self, message: Message | None) -> None:
        """Create the task."""
        history = [message] if message is not None else []
        await self.queue.enqueue_event(
            Task(
                id=self._task_id,
                context_id=self._context_id,
                status=_status(TaskState.TASK_STATE_WORKING),
                history=history,
            )
        )

    def text(self, piece: str) -> None:
        """Add a piece to the answer; it is sent within :data:`FLUSH_S`."""
        self._unsent += piece
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush_soon())

    async def note(self, text: str) -> None:
        """Send words that stand beside the answer."""
        async with self._lock:
            await self._flush()
            await self._send_artifact(f"note-{uuid4().hex[:8]}", "note", _part(text), append=False)

    async def working(self) -> None:
        """The task goes on."""
        await self._enter(TaskState.TASK_STATE_WORKING)

    async def call(self, calls: Sequence[Call]) -> None:
        """Hand calls to the client; the task waits for their results."""
        await self._enter(TaskState.TASK_STATE_INPUT_REQUIRED, _part(CALLING), _calls_part(calls))

    async def ask(self, words: str) -> None:
        """The task waits for an answer in words to ``words``, which have been sent."""
        await self._enter(TaskState.TASK_STATE_INPUT_REQUIRED, _part(words))

    async def complete(self) -> None:
        """The task is done."""
        await self._enter(TaskState.TASK_STATE_COMPLETED)

    async def fail(self, words: str) -> None:
        """The task has failed. ``words``: why, for the client."""
        await self._enter(TaskState.TASK_STATE_FAILED, _part(words))

    async def closed(self) -> None:
        """The task has failed, since its context was closed."""
        await self.fail("The context was closed.")

    async def ambiguous(self) -> None:
        """The task has failed, since results that may be for it do not say so."""
        await self.fail("A result came without contextId or taskId, and several tasks wait.")

    async def cancelled(self) -> None:
        """The task was cancelled."""
        await self._enter(TaskState.TASK_STATE_CANCELED)

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _flush_soon(self) -> None:
        while self._unsent:  # more may come while a piece is sent
            await asyncio.sleep(max(0.0, self._sent_at + FLUSH_S - now()))
            async with self._lock:
                await self._flush()

    async def _flush(self) -> None:
        text, self._unsent = self._unsent, ""
        if not text:
            return
        first = not self._artifact
        self._artifact = self._artifact or f"answer-{uuid4().hex[:8]}"
        await self._send_artifact(self._artifact, "answer", _part(text), append=not first)
        self._sent_at = now()

    async def _send_artifact(
        self, artifact_id: str, name: str, part: Part, *, append: bool
    ) -> None:
        artifact = Artifact(artifact_id=artifact_id, name=name, parts=[part])
        await self.queue.enqueue_event(
            TaskArtifactUpdateEvent(
                task_id=self._task_id,
                context_id=self._context_id,
                artifact=artifact,
                append=append,
            )
        )

    async def _enter(self, state: TaskState, *parts: Part) -> None:
        async with self._lock:
            await self._flush()
            message = None
            if parts:
                message = Message(
                    message_id=uuid4().hex,
                    role=Role.ROLE_AGENT,
                    task_id=self._task_id,
                    context_id=self._context_id,
                    parts=parts,
                )
            await self.queue.enqueue_event(
                TaskStatusUpdateEvent(
                    task_id=self._task_id,
                    context_id=self._context_id,
                    status=_status(state, message),
                )
            )


def _status(state: TaskState, message: Message | None = None) -> TaskStatus:
    status = TaskStatus(state=state, message=message)
    status.timestamp.FromDatetime(date_time(UTC))
    return status


def _part(text: str) -> Part:
    # protobuf takes no half of a surrogate pair.
    return Part(text=well_formed(text), media_type="text/plain")


def _calls_part(calls: Sequence[Call]) -> Part:
    listed: list[dict[str, Any]] = [
        {
            "id": call.id,
            "name": call.name,
            "args": _in_range(call.parsed),
            "arguments": call.arguments,
            "type": "tool_call",
        }
        for call in calls
    ]
    part = new_data_part({"content": "", "tool_calls": listed}, "application/json")
    part.metadata.update({"type": "tool-calls", "format": "langchain", "count": len(calls)})
    return part


def _in_range(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return ``value`` with numbers that no double can hold as text."""
    if isinstance(value, dict):
        return {key: _in_range(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_in_range(each) for each in value]
    if isinstance(value, int) and abs(value) > 10**300:
        return str(value)
    return value
