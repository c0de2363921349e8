"""The contexts of all callers: conversations with memory, and the tasks that belong to them."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from vixio.core.clock import now
from vixio.core.cluster import Lease
from vixio.core.errors import VixioError, describe
from vixio.core.metrics import Counters
from vixio.core.session.conversation import Conversation
from vixio.core.tasks import cancel_and_wait
from vixio.core.tools.toolset import CLIENT_SOURCE
from vixio.web.a2a.assistant_run import AssistantRun
from vixio.web.a2a.callers import Scope, conversation_key
from vixio.web.a2a.client_tools import ClientToolCaller, PendingCalls
from vixio.web.a2a.incoming import OfferedTool
from vixio.web.a2a.results import Result
from vixio.web.a2a.run import Run

MAX_RUNS: Final = 4
"""Of one context at a time; the later ones wait for their turn."""

_log = logging.getLogger(__name__)

Open = Callable[[str], Awaitable[Conversation]]
"""Opens the conversation of a key."""

Forget = Callable[[str], Awaitable[None]]
"""Drops the history of a key from memory, once it is stored."""


class ContextsFull(VixioError):
    """No further context or task can begin now. A retry can help."""


class Context:
    """A context of one scope. ``runs``: by task, those that are not over."""

    def __init__(self, scope: Scope, context_id: str, result_timeout: float) -> None:
        self.scope = scope
        self.id = context_id
        self.key = conversation_key(scope.owner, context_id)
        self.runs: dict[str, Run] = {}
        self.tasks: set[str] = set()
        """The ids of its tasks, as far as they are stored."""
        self.asking = ""
        """The task that waits for an answer in words, after its run is over."""
        self.turns = asyncio.Lock()
        self.used = now()
        self.addressed = False
        """Whether a message has named it, or one of its tasks: its client knows of ids."""
        self.lease: Lease | None = None
        self.conversation: Conversation | None = None
        self.opening = asyncio.Lock()
        self.leasing = asyncio.Lock()
        self.offered: tuple[OfferedTool, ...] = ()
        """The caller's tools."""
        self._caller = ClientToolCaller(self._calls, result_timeout)

    @property
    def busy(self) -> bool:
        """Whether work is under way."""
        return bool(self.runs)

    @property
    def waiting_task(self) -> str:
        """The task that a message without a task belongs to; empty: it begins a new one."""
        waiting = (task_id for task_id, run in self.runs.items() if run.waiting)
        return next(waiting, "" if self.runs else self.asking)

    def waits_for(self, results: Sequence[Result]) -> bool:
        """Whether a call that its client has been handed waits for one of ``results``."""
        runs = (run for run in self.runs.values() if isinstance(run, AssistantRun) and run.waiting)
        return any(run.calls.wait_for(results) for run in runs)

    def offer(self, tools: tuple[OfferedTool, ...] | None) -> None:
        """Replace the caller's tools; None: leave them as they are."""
        if tools is not None and self.conversation is not None:
            self.offered = tools
            self.conversation.tools.replace(CLIENT_SOURCE, self._caller.definitions(tools))

    def withdraw(self, task_id: str) -> None:
        """Drop the question of a task, if it has asked one."""
        if self.asking == task_id:
            self.asking = ""
            if self.conversation is not None:
                self.conversation.withdraw()

    def _calls(self) -> PendingCalls | None:
        runs = (run for run in self.runs.values() if isinstance(run, AssistantRun) and run.begun)
        run = next(runs, None)
        return run.calls if run is not None else None


class Contexts:
    """All contexts of this process, by scope; the ones used longest ago are dropped first.

    ``drop_task``: erases a task that its context has outlived.
    """

    def __init__(
        self,
        open_conversation: Open,
        forget: Forget,
        drop_task: Callable[[Scope, str], None],
        counters: Counters,
        *,
        lifetime: float,
        max_contexts: int,
        max_running: int,
        result_timeout: float,
    ) -> None:
        """``max_contexts`` and ``max_running`` (tasks): of one owner."""
        self._open = open_conversation
        self._forget = forget
        self._drop_task = drop_task
        self._counters = counters
        self._lifetime = lifetime
        self._max_contexts = max_contexts
        self._max_running = max_running
        self._result_timeout = result_timeout
        self._contexts: dict[str, OrderedDict[tuple[str, str], Context]] = {}
        """By owner, then by device and id."""
        self._by_task: dict[tuple[str, str], Context] = {}
        """By the scope's name and the task."""
        self._closing: dict[str, asyncio.Task[None]] = {}
        """By the conversation's key."""
        self._sweeping: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return sum(map(len, self._contexts.values()))

    @property
    def running(self) -> int:
        """How many tasks run or wait for their clients."""
        return sum(len(each.runs) for of in self._contexts.values() for each in of.values())

    def start(self) -> None:
        """Begin to drop the contexts whose time is over."""
        self._sweeping = asyncio.create_task(self._sweep(), name="a2a contexts")

    def find(self, scope: Scope, context_id: str) -> Context | None:
        """Return a context of this scope, if it is there."""
        of_owner = self._contexts.get(scope.owner)
        return of_owner.get((scope.device, context_id)) if of_owner is not None else None

    def of_task(self, scope: Scope, task_id: str) -> Context | None:
        """Return the context of a task of this scope, if it is there."""
        return self._by_task.get((scope.name, task_id))

    def waiting_for(self, scope: Scope, results: Sequence[Result]) -> Sequence[Context]:
        """Return the contexts of this scope that wait for one of ``results``."""
        of_owner = tuple(self._contexts.get(scope.owner, OrderedDict()).values())
        return [each for each in of_owner if each.scope == scope and each.waits_for(results)]

    def get(self, scope: Scope, context_id: str) -> Context:
        """Return a context, a new one if need be. Raises ContextsFull."""
        of_owner = self._contexts.setdefault(scope.owner, OrderedDict())
        key = (scope.device, context_id)
        context = of_owner.get(key)
        if context is None:
            while len(of_owner) >= self._max_contexts:
                idle = next((each for each in of_owner.values() if not each.busy), None)
                if idle is None:
                    raise ContextsFull("too many contexts are busy, try again later")
                self._counters.add("a2a.contexts.evicted")
                self._drop(idle)
            context = of_owner[key] = Context(scope, context_id, self._result_timeout)
            self._counters.add("a2a.contexts")
        of_owner.move_to_end(key)
        context.used = now()
        return context

    def check_room(self, context: Context) -> None:
        """Raise ContextsFull if no further task may begin in a context."""
        running = sum(len(each.runs) for each in self._contexts[context.scope.owner].values())
        if running >= self._max_running:
            raise ContextsFull(f"{running} tasks are running, {self._max_running} at most")
        if len(context.runs) >= MAX_RUNS:
            raise ContextsFull(f"{MAX_RUNS} tasks of this context are running already")

    async def conversation(self, context: Context) -> Conversation:
        """Return the conversation of a context, opened at first use. Raises VixioError."""
        async with context.opening:
            if (closing := self._closing.get(context.key)) is not None:
                await asyncio.wait((closing,))  # an older context of this id
            if context.conversation is None:
                context.conversation = await self._open(context.key)
            return context.conversation

    def begin(self, context: Context, run: Run) -> None:
        """Take note of work that begins. Raises ContextsFull."""
        self.check_room(context)
        context.runs[run.task_id] = run
        context.asking = ""
        self._counters.add("a2a.tasks")

    def over(self, context: Context, run: Run) -> None:
        """Take note of work that is over."""
        if context.runs.get(run.task_id) is run:
            del context.runs[run.task_id]
        if run.awaits_words:
            context.asking = run.task_id
        context.used = now()

    def own(self, context: Context, task_id: str) -> None:
        """Take note of a task of a context."""
        context.tasks.add(task_id)
        self._by_task[context.scope.name, task_id] = context

    def disown(self, scope: Scope, task_id: str) -> None:
        """Forget a task that is stored no longer."""
        context = self._by_task.pop((scope.name, task_id), None)
        if context is not None:
            context.tasks.discard(task_id)
            context.withdraw(task_id)

    def lost(self, context: Context) -> None:
        """Drop a context that another process has taken."""
        if self.find(context.scope, context.id) is context:
            self._drop(context)

    async def close(self) -> None:
        """End all work and close all conversations."""
        await cancel_and_wait(self._sweeping)
        for of_owner in tuple(self._contexts.values()):
            for context in tuple(of_owner.values()):
                self._drop(context)
        if self._closing:
            await asyncio.wait(tuple(self._closing.values()))

    # ── inside ───────────────────────────────────────────────────────────────────────────────

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(min(60.0, self._lifetime / 4))
            oldest = now() - self._lifetime
            for of_owner in tuple(self._contexts.values()):
                for context in tuple(of_owner.values()):
                    if context.used <= oldest and not context.busy:
                        self._counters.add("a2a.contexts.expired")
                        self._drop(context)

    def _drop(self, context: Context) -> None:
        scope = context.scope
        of_owner = self._contexts[scope.owner]
        del of_owner[scope.device, context.id]
        if not of_owner:
            del self._contexts[scope.owner]
        for task_id in tuple(context.tasks):
            self._by_task.pop((scope.name, task_id), None)
            self._drop_task(scope, task_id)
        before = self._closing.get(context.key)
        self._closing[context.key] = asyncio.create_task(self._close(context, before))

    async def _close(self, context: Context, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait((before,))
        try:
            for run in tuple(context.runs.values()):
                await run.cancel(run.output.closed)
            async with context.opening:
                conversation, context.conversation = context.conversation, None
                if conversation is not None:
                    await conversation.close("the context was closed")
                    # Not that of a device's context: the key may be one of the assistant's.
                    await self._forget(context.key)
            if context.lease is not None:
                await context.lease.release()
        except Exception as error:  # noqa: BLE001 - third-party code of an agent or a tool
            _log.warning("A2A context did not close", extra={"error": describe(error)})
        finally:
            if self._closing.get(context.key) is asyncio.current_task():
                del self._closing[context.key]
