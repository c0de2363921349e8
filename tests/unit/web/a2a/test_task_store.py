"""The store of tasks is bounded in number, in bytes and in the length of a task."""

from __future__ import annotations

import pytest
from a2a.server.context import ServerCallContext
from a2a.types import Artifact, ListTasksRequest, Message, Part, Task, TaskState, TaskStatus

from vixio.web.a2a import task_store
from vixio.web.a2a.call_context import Admitted, Caller
from vixio.web.a2a.callers import Scope
from vixio.web.a2a.task_store import BoundedTaskStore, joined

ALICE, BOB = Scope("alice"), Scope("bob")
LAMP = Scope("alice", "02:00:00:00:00:01")

DONE, WAITING = TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_INPUT_REQUIRED


def call(scope: Scope) -> ServerCallContext:
    return ServerCallContext(user=Caller(scope), state={"vixio": Admitted(scope)})


def task(id: str, state: TaskState = DONE, text: str = "") -> Task:
    made = Task(id=id, context_id="c", status=TaskStatus(state=state))
    if text:
        made.history.append(Message(message_id="m", parts=[Part(text=text)]))
    return made


class Kept:
    """A store, and what it dropped."""

    def __init__(self, max_tasks: int = 100) -> None:
        self.dropped: list[tuple[str, str]] = []
        self.store = BoundedTaskStore(
            max_tasks, lambda scope, task_id: self.dropped.append((scope.name, task_id))
        )

    async def save(self, scope: Scope, *tasks: Task) -> None:
        for each in tasks:
            await self.store.save(each, call(scope))

    async def ids(self, scope: Scope) -> set[str]:
        listed = await self.store.list(ListTasksRequest(), call(scope))
        return {each.id for each in listed.tasks}


async def test_the_oldest_that_is_over_goes_first() -> None:
    kept = Kept(max_tasks=3)
    await kept.save(ALICE, task("a", WAITING), task("b"), task("c"))
    await kept.save(BOB, task("x"))
    await kept.save(LAMP, task("d"))
    assert kept.dropped == [("alice", "b")]
    assert await kept.ids(ALICE) == {"a", "c"}
    assert await kept.ids(LAMP) == {"d"}
    assert await kept.ids(BOB) == {"x"}
    await kept.save(ALICE, task("e", WAITING), task("f", WAITING), task("g", WAITING))
    assert [each for _, each in kept.dropped] == ["b", "c", "d", "a"]
    assert len(kept.store) == 4


async def test_bytes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_store, "MAX_BYTES", 10_000)
    kept = Kept()
    for number in range(10):
        await kept.save(ALICE, task(f"t{number}", text="x" * 3_000))
    assert await kept.ids(ALICE) == {"t7", "t8", "t9"}
    await kept.save(ALICE, task("t9"))  # it has become small
    await kept.save(ALICE, task("u", text="x" * 3_000))
    assert await kept.ids(ALICE) == {"t7", "t8", "t9", "u"}


async def test_a_task_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_store, "MAX_TASK_BYTES", 5_000)
    kept = Kept()
    long = task("t", WAITING)
    for number in range(300):
        long.history.append(Message(message_id=f"m{number}", parts=[Part(text="x" * 100)]))
    await kept.save(ALICE, long)
    found = await kept.store.get("t", call(ALICE))
    assert found is not None
    assert found.ByteSize() <= 5_000
    assert found.history[-1].message_id == "m299"


async def test_a_dropped_task_is_gone_for_its_scope_alone() -> None:
    kept = Kept()
    await kept.save(ALICE, task("t"))
    await kept.save(BOB, task("t"))
    kept.store.drop(ALICE, "t")
    kept.store.drop(ALICE, "t")
    assert await kept.store.get("t", call(ALICE)) is None
    assert await kept.store.get("t", call(BOB)) is not None
    kept.store.drop(BOB, "t")
    assert (len(kept.store), kept.store._bytes, kept.store._impl.tasks) == (0, {}, {})


def test_the_pieces_of_an_answer_are_joined() -> None:
    words = [Part(text=each) for each in ("One, ", "two, ", "three.")]
    odd = [Part(text="a"), Part(url="http://x")]
    made = Task(artifacts=[Artifact(parts=words), Artifact(parts=odd), Artifact(parts=words[:1])])
    parts = [[part.text for part in each.parts] for each in joined(made).artifacts]
    assert parts == [["One, two, three."], ["a", ""], ["One, "]]
