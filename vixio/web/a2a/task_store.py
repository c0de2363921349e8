"""The tasks that can be read later, in memory and bounded."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from a2a.server.context import ServerCallContext
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import Part, Task, TaskState

from vixio.web.a2a.call_context import scope_of
from vixio.web.a2a.callers import Scope

MAX_BYTES: Final = 64 * 1024 * 1024
"""Of all tasks of one owner, as protobuf."""

MAX_HISTORY: Final = 100
"""Messages of one task; the oldest are dropped."""

MAX_TASK_BYTES: Final = 8 * 1024 * 1024

TERMINAL: Final = frozenset(
    {
        TaskState.TASK_STATE_COMPLETED,
        TaskState.TASK_STATE_CANCELED,
        TaskState.TASK_STATE_FAILED,
        TaskState.TASK_STATE_REJECTED,
    }
)


class BoundedTaskStore(InMemoryTaskStore):
    """Each scope sees its own tasks only. Over a bound, an owner's oldest task is dropped.

    One that is over goes before one that is not. ``dropped`` is called for each.
    """

    def __init__(self, max_tasks: int, dropped: Callable[[Scope, str], None]) -> None:
        super().__init__(owner_resolver=lambda context: scope_of(context).name)
        self._max_tasks = max_tasks
        self._dropped = dropped
        self._tasks: dict[str, OrderedDict[tuple[Scope, str], _Kept]] = {}
        self._bytes: dict[str, int] = {}

    def __len__(self) -> int:
        return sum(map(len, self._tasks.values()))

    async def save(self, task: Task, context: ServerCallContext) -> None:
        """Store a task, and drop others if need be."""
        scope = scope_of(context)
        if len(task.history) > MAX_HISTORY:
            del task.history[: len(task.history) - MAX_HISTORY]
        size = task.ByteSize()
        while size > MAX_TASK_BYTES and task.history:
            del task.history[0]
            size = task.ByteSize()
        await super().save(task, context)
        kept = self._tasks.setdefault(scope.owner, OrderedDict())
        before = kept.pop((scope, task.id), None)
        kept[scope, task.id] = _Kept(size, task.status.state in TERMINAL)
        self._bytes[scope.owner] = (
            self._bytes.get(scope.owner, 0) + size - (before.size if before else 0)
        )
        self._shrink(scope.owner, (scope, task.id))

    async def get(self, task_id: str, context: ServerCallContext) -> Task | None:
        """Return a copy of a task, the pieces of its answers joined."""
        task = await super().get(task_id, context)
        return joined(task) if task is not None else None

    def drop(self, scope: Scope, task_id: str) -> None:
        """Erase a task."""
        of_owner = self._tasks.get(scope.owner, OrderedDict())
        kept = of_owner.pop((scope, task_id), None)
        if kept is None:
            return
        self._bytes[scope.owner] -= kept.size
        if not of_owner:
            del self._tasks[scope.owner], self._bytes[scope.owner]
        stored = self._impl.tasks.get(scope.name, {})
        stored.pop(task_id, None)
        if not stored:
            self._impl.tasks.pop(scope.name, None)

    def _shrink(self, owner: str, saved: tuple[Scope, str]) -> None:
        kept = self._tasks[owner]
        while len(kept) > self._max_tasks or self._bytes[owner] > MAX_BYTES:
            oldest = next(iter(kept))
            if oldest == saved:  # it stands last, so there is no other
                return
            over = (key for key, each in kept.items() if each.over and key != saved)
            scope, task_id = next(over, oldest)
            self.drop(scope, task_id)
            self._dropped(scope, task_id)


class _Kept:
    __slots__ = ("over", "size")

    def __init__(self, size: int, over: bool) -> None:
        self.size = size
        self.over = over


def joined(task: Task) -> Task:
    """Join the pieces of each answer of ``task``, which came one by one; return it."""
    for artifact in task.artifacts:
        texts = [part.text for part in artifact.parts]
        if len(texts) > 1 and all(part.HasField("text") for part in artifact.parts):
            del artifact.parts[:]
            artifact.parts.append(Part(text="".join(texts), media_type="text/plain"))
    return task
