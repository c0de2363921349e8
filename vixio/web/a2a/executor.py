"""Does the work of tasks: the agent executor of the A2A library."""

from __future__ import annotations

from collections.abc import Callable

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue

from vixio.core.errors import VixioError
from vixio.core.messages.fault import Fault
from vixio.core.metrics import Counters
from vixio.web.a2a.assistant_run import CONSENT, AssistantRun
from vixio.web.a2a.call_context import Admitted, admitted_of
from vixio.web.a2a.contexts import Context, Contexts, ContextsFull
from vixio.web.a2a.incoming import data_as_text
from vixio.web.a2a.output import Output
from vixio.web.a2a.run import Run

MakeDeviceRun = Callable[[str, Output, Callable[[Run], None], Admitted], Run]
"""Makes the run of a device's task, from its id, its output, what is to be called at its end, and
the request."""


class Executor(AgentExecutor):
    """Begins runs, and hands messages to those that wait. A run outlives its request."""

    def __init__(self, contexts: Contexts, counters: Counters, device_run: MakeDeviceRun) -> None:
        self._contexts = contexts
        self._counters = counters
        self._device_run = device_run

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Take a message; return when its task is over or waits for the client."""
        admitted = admitted_of(context.call_context)
        task_id = context.task_id or ""
        if admitted.context is None or not task_id:
            raise ValueError("a message without a context")
        place = self._contexts.get(admitted.scope, admitted.context.id)
        output = Output(event_queue, task_id, place.id)
        self._contexts.own(place, task_id)
        run = place.runs.get(task_id)
        if context.current_task is None:
            await output.begin(context.message)
        elif run is None:
            await output.working()
        if run is not None:
            run.output.queue = event_queue  # the library may have made another one meanwhile
            place.offer(admitted.incoming.offer)
            await run.deliver(admitted.incoming)
        else:
            run = await self._begin(task_id, place, admitted, output)
        if run is not None:
            await run.at_rest()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Stop the work on a task."""
        scope = admitted_of(context.call_context).scope
        task_id = context.task_id or ""
        place = self._contexts.of_task(scope, task_id)
        self._counters.add("a2a.tasks.cancelled")
        if place is not None:
            if (run := place.runs.get(task_id)) is not None:
                await run.cancel(run.output.cancelled)
                return
            place.withdraw(task_id)
        await Output(event_queue, task_id, context.context_id or "").cancelled()

    async def _begin(
        self, task_id: str, place: Context, admitted: Admitted, output: Output
    ) -> Run | None:
        incoming = admitted.incoming

        def over(run: Run) -> None:
            self._contexts.over(place, run)

        run: Run
        if place.scope.device:
            run = self._device_run(task_id, output, over, admitted)
        else:
            try:
                conversation = await self._contexts.conversation(place)
            except VixioError as error:
                self._counters.add("a2a.tasks.failed")
                await output.fail(Fault.of(error).words("en"))
                return None
            place.offer(incoming.offer)
            text = "\n".join(filter(None, (incoming.text, data_as_text(incoming.data))))
            if not text:  # tools alone: there is nothing to answer
                if place.asking == task_id:  # and a question is still open
                    await output.ask(CONSENT)
                else:
                    await output.complete()
                return None
            run = AssistantRun(
                task_id, output, self._counters, over, conversation, place.turns, text
            )
        try:
            self._contexts.begin(place, run)
        except ContextsFull as error:  # of messages that were admitted at the same moment
            place.withdraw(task_id)
            self._counters.add("a2a.tasks.failed")
            await output.fail(str(error))
            return None
        run.start()
        return run
