"""The request handlers of the A2A library, with what they lack."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any
from uuid import uuid4

from a2a.compat.v0_3 import types as types_v03
from a2a.compat.v0_3.request_handler import RequestHandler03
from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.id_generator import IDGenerator, IDGeneratorContext
from a2a.server.request_handlers.default_request_handler_v2 import DefaultRequestHandlerV2
from a2a.types import AgentCard, Message, SendMessageRequest, Task, TaskState
from a2a.utils.errors import UnsupportedOperationError
from a2a.utils.task import apply_history_length

from vixio.web.a2a.executor import Executor
from vixio.web.a2a.places import digest
from vixio.web.a2a.task_store import TERMINAL, BoundedTaskStore, joined


class Handler(DefaultRequestHandlerV2):
    """Returns answers in one piece to requests that are not streamed, and begins each stream with
    its task (specification 1.0, 3.1.2)."""

    def __init__(
        self,
        executor: Executor,
        tasks: BoundedTaskStore,
        card: AgentCard,
        **options: Any,  # noqa: ANN401 - those of the base
    ) -> None:
        super().__init__(executor, tasks, card, **options)
        self.tasks = tasks

    async def on_message_send(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Message | Task:
        """Take a message; return its task."""
        await self._task_of(params, context)
        result: Message | Task = await super().on_message_send(params, context)
        if not isinstance(result, Task):
            return result
        own = Task()
        own.CopyFrom(result)  # it may be the one that the library goes on with
        return joined(own)

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        """Take a message; yield the events of its task, which come behind the task itself."""
        first = await self._task_of(params, context) is not None
        async with aclosing(super().on_message_send_stream(params, context)) as events:
            async for event in events:
                if first and not isinstance(event, Task):
                    task = await self.tasks.get(params.message.task_id, context)
                    if task is not None:
                        # The client has its answers so far, and would take them for new ones.
                        task.ClearField("artifacts")
                        yield apply_history_length(task, params.configuration)
                first = False
                yield event

    async def _task_of(self, params: SendMessageRequest, context: ServerCallContext) -> Task | None:
        """Return the task that a message continues, if any.

        Raises UnsupportedOperationError if it is over; the library does so too, but leaves the
        queues of the attempt behind.
        """
        task_id = params.message.task_id
        task = await self.tasks.get(task_id, context) if task_id else None
        if task is not None and task.status.state in TERMINAL:
            state = TaskState.Name(task.status.state)
            raise UnsupportedOperationError(f"Task {task_id} is in terminal state: {state}")
        return task


class Handler03(RequestHandler03):
    """Marks the event with which a stream ends; the library's does not for ``input-required``."""

    async def on_message_send_stream(
        self, request: types_v03.SendMessageRequest, context: ServerCallContext
    ) -> AsyncIterator[types_v03.SendStreamingMessageSuccessResponse]:
        """Take a message; yield the events of its task."""
        async for event in super().on_message_send_stream(request, context):
            yield _marked(event)

    async def on_subscribe_to_task(
        self, request: types_v03.TaskResubscriptionRequest, context: ServerCallContext
    ) -> AsyncIterator[types_v03.SendStreamingMessageSuccessResponse]:
        """Yield the further events of a task, until one that is final."""
        async for event in super().on_subscribe_to_task(request, context):
            yield _marked(event)
            if isinstance(event.result, types_v03.TaskStatusUpdateEvent) and event.result.final:
                return


class TaskIds(IDGenerator):
    """Ids of tasks begin with the digest of their context, so that any process can place them."""

    def generate(self, context: IDGeneratorContext) -> str:
        """Return a new id."""
        return f"{digest(context.context_id or '')}-{uuid4().hex}"


def _marked(
    event: types_v03.SendStreamingMessageSuccessResponse,
) -> types_v03.SendStreamingMessageSuccessResponse:
    result = event.result
    if (
        isinstance(result, types_v03.TaskStatusUpdateEvent)
        and result.status.state is types_v03.TaskState.input_required
    ):
        result.final = True
    return event
