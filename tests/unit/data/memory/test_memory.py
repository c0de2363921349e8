"""The memory loads and writes in the background, and survives every failure of the store."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.waiting import until
from tests.unit.data.memory.doubles import FlakyDatabase, Server, opened, talk, users
from vixio.core.backoff import Backoff
from vixio.core.device import normalise_device_id
from vixio.core.history import (
    INTERRUPTED,
    AssistantMessage,
    HistoryItem,
    Summary,
    ToolCallItem,
    ToolResultItem,
    UserMessage,
)
from vixio.data.database import link as link_module
from vixio.data.memory.records import device_key

A, B = "02:00:00:00:00:0A", "02:00:00:00:00:0B"
KEY = device_key(A)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "RETRIES", Backoff(first=0.02, longest=0.05))


# ── restarts ─────────────────────────────────────────────────────────────────────────────────


async def test_a_restart_is_not_noticed(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    first = Server(path)
    history = await first.connect(A)
    talk(history, "one", "answer one")
    turn_id = history.next_turn_id()
    history.begin(turn_id, "two")
    history.append(turn_id, ToolCallItem("c1", "lamp", "{}"))
    history.append(turn_id, ToolResultItem("c1", "true"))
    history.append(turn_id, AssistantMessage("It is on and more"))
    history.cut(turn_id, "It is on")
    before = list(history.items())
    await first.stop()
    assert first.count("saved") == 2

    second = Server(path)
    history = await second.connect(A.lower().replace(":", "-"))
    assert list(history.items()) == before
    assert before[-1] == AssistantMessage("It is on")
    assert users(await second.connect(B)) == []
    await second.stop()


@pytest.mark.parametrize("sent", ["Kitchen Box", "Kitchen-Box", "aabb.ccdd.ee0f"])
async def test_records_under_an_older_spelling_are_found(tmp_path: Path, sent: str) -> None:
    """Before ids were normalised, each spelling had a key of its own."""
    path = tmp_path / "memory.db"
    before = Server(path)
    talk(await before.connect(sent), "one", "answer one")
    await before.memory.facts.add(sent, "likes tea")
    await before.stop()

    device_id = normalise_device_id(sent)
    after = Server(path)
    assert users(await after.connect(device_id, sent)) == ["one"]
    assert await after.memory.facts.facts(device_id) == ["likes tea"]
    await after.stop()

    later = Server(path)
    assert users(await later.connect(device_id)) == ["one"], "it is moved for good"
    await later.stop()


async def test_a_turn_broken_in_mid_tool_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    server = Server(path)
    history = await server.connect(A)
    history.begin(1, "turn it on")
    history.append(1, ToolCallItem("c1", "lamp", "{}"))
    history.append(1, ToolCallItem("c2", "lamp", "{}"))
    history.append(1, ToolResultItem("c1", "true"))
    history.cut(1, "")
    await server.stop()
    again = Server(path)
    items = (await again.connect(A)).items()
    await again.stop()
    assert list(items) == [
        UserMessage("turn it on"),
        ToolCallItem("c1", "lamp", "{}"),
        ToolCallItem("c2", "lamp", "{}"),
        ToolResultItem("c1", "true"),
        ToolResultItem("c2", INTERRUPTED),
    ]


async def test_a_device_that_comes_back_sees_what_is_still_being_written() -> None:
    store = FlakyDatabase()
    server = Server(store)
    history = await server.connect(A)
    store.hanging = True
    talk(history, "one")
    again = server.histories.get(A)
    assert users(again) == ["one"]
    store.hanging = False
    await again.ready()
    assert users(again) == ["one"]
    await server.stop()


async def test_a_device_dropped_from_the_cache_sees_it_too() -> None:
    store = FlakyDatabase()
    server = Server(store, max_devices=1)
    history = await server.connect(A)
    talk(history, "one")
    await server.connect(B)  # which drops the history of A
    again = await server.connect(A)
    assert again is not history
    assert users(again) == ["one"]
    await server.stop()
    assert len(await store.turns(KEY)) == 1


async def test_what_is_forgotten_is_not_kept(tmp_path: Path) -> None:
    """The user paused and continued: the first half is removed, before or after it was saved."""
    path = tmp_path / "memory.db"
    server = Server(path)
    history = await server.connect(A)
    talk(history, "zero")
    history.begin(7, "half a")
    history.cut(7, "")
    assert history.forget(7) == "half a"
    talk(history, "half a question")
    history.begin(9, "another half")
    history.cut(9, "")
    await until(lambda: server.count("saved") == 3)
    history.forget(9)
    await server.stop()
    again = Server(path)
    assert users(await again.connect(A)) == ["zero", "half a question"]
    await again.stop()


# ── bounds ───────────────────────────────────────────────────────────────────────────────────


async def test_the_store_is_bounded_as_the_history_is(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    server = Server(path, max_turns=3)
    history = await server.connect(A)
    for number in range(10):
        talk(history, f"question {number}")
    await server.stop()
    async with opened(path) as memory:
        kept = (await memory.load(KEY)).turns
    assert [turn[0] for turn in kept] == [UserMessage(f"question {n}") for n in (7, 8, 9)]


async def test_a_summary_stands_for_what_no_longer_fits() -> None:
    asked: list[tuple[str, list[str]]] = []

    async def summarise(before: str, items: Sequence[HistoryItem]) -> str:
        asked.append((before, [item.text for item in items if isinstance(item, UserMessage)]))
        return f"summary {len(asked)}"

    store = FlakyDatabase()
    server = Server(store, max_turns=8, summarise=summarise)
    history = await server.connect(A)
    for number in range(12):
        talk(history, str(number))
        await until(lambda: all(device.idle for device in server.memory._devices.values()))
    assert asked == [("", ["0", "1", "2"]), ("summary 1", ["3", "4", "5"])]
    assert history.items()[0] == Summary("summary 2")
    assert users(history) == ["6", "7", "8", "9", "10", "11"]
    await server.stop()
    assert len(await store.turns(KEY)) == 6
    again = Server(store, max_turns=8)
    assert list((await again.connect(A)).items()) == list(history.items())
    await again.stop()


async def test_a_summary_that_cannot_be_made_costs_only_itself() -> None:
    async def summarise(before: str, items: Sequence[HistoryItem]) -> str:
        raise TimeoutError

    store = FlakyDatabase()
    server = Server(store, max_turns=4, summarise=summarise)
    history = await server.connect(A)
    for number in range(9):
        talk(history, str(number))
        await until(lambda: all(device.idle for device in server.memory._devices.values()))
    assert users(history) == ["5", "6", "7", "8"]
    assert server.count("summary_failed") == 6
    await server.stop()
    assert len(await store.turns(KEY)) <= 5


async def test_a_summary_does_not_bring_back_what_was_erased() -> None:
    going = asyncio.Event()

    async def summarise(before: str, items: Sequence[HistoryItem]) -> str:
        await going.wait()
        return "all that was said"

    store = FlakyDatabase()
    server = Server(store, max_turns=4, summarise=summarise)
    history = await server.connect(A)
    for number in range(4):
        talk(history, str(number))
    await until(lambda: server.count("saved") == 4)
    await store.look(lambda memory: memory.clear(KEY))  # erased from outside
    talk(history, "5")
    await until(lambda: server.count("erased") == 1)
    going.set()
    await until(lambda: all(device.idle for device in server.memory._devices.values()))
    assert users(history) == ["5"]
    assert not history.summary
    assert not (await store.look(lambda memory: memory.load(KEY))).summary
    await server.stop()


# ── erased from outside ──────────────────────────────────────────────────────────────────────


async def test_what_is_erased_beside_the_server_does_not_come_back(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    server = Server(path)
    history = await server.connect(A)
    talk(history, "a secret")
    await until(lambda: server.count("saved") == 1)
    async with opened(path) as command_line:
        assert await command_line.clear(KEY)
    # … while it is connected: with the next turn, which is the first of a new memory.
    talk(history, "hello again")
    await until(lambda: server.count("erased") == 1)
    assert users(history) == ["hello again"]
    # … between two connections: at once.
    async with opened(path) as command_line:
        assert await command_line.clear(KEY)
    assert users(await server.connect(A)) == []
    await server.stop()


# ── stores that do not work ──────────────────────────────────────────────────────────────────


async def test_a_hanging_store_costs_a_turn_next_to_nothing() -> None:
    store = FlakyDatabase()
    store.hanging = True
    server = Server(store, wait=0.05)
    history = await server.connect(A)  # returns while the store hangs
    assert server.count("late") == 1
    talk(history, "one")
    store.hanging = False
    await until(lambda: server.count("saved") == 1)
    assert users(history) == ["one"]
    await server.stop()


async def test_what_comes_late_is_put_in_front() -> None:
    store = FlakyDatabase()
    await store.look(lambda memory: memory.save_turn(KEY, [UserMessage("long ago")]))
    store.hanging = True
    server = Server(store, wait=0.01)
    history = await server.connect(A)
    talk(history, "one")
    history.begin(99, "two")
    store.hanging = False
    await until(lambda: server.count("saved") == 1)
    assert users(history) == ["long ago", "one", "two"]
    await server.stop()


async def test_a_store_that_takes_too_long_is_not_asked_twice() -> None:
    store = FlakyDatabase()
    server = Server(store, timeout=0.05)
    history = await server.connect(A)
    store.hanging = True
    talk(history, "one")
    await until(lambda: server.count("failed") >= 3)
    store.hanging = False
    await until(lambda: server.count("saved") == 1)
    await server.stop()
    assert await store.turns(KEY) == [[UserMessage("one"), AssistantMessage("yes")]]


async def test_a_store_that_fails_is_used_again(caplog: pytest.LogCaptureFixture) -> None:
    store = FlakyDatabase()
    store.broken = True
    server = Server(store)
    server.memory.start()
    history = await server.connect(A)
    for number in range(30):
        talk(history, str(number))
    await until(lambda: server.count("failed") >= 3)
    assert len(users(history)) == 20
    assert server.count("lost") == 10
    store.broken = False
    await until(lambda: server.count("saved") == 20)
    await server.stop()
    assert [turn[0] for turn in (await store.turns(KEY))] == [
        UserMessage(str(n)) for n in range(10, 30)
    ]


async def test_a_turn_that_is_not_taken_costs_itself_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = FlakyDatabase()
    store.rejected = "two"
    server = Server(store)
    server.memory.start()
    history = await server.connect(A)
    before = store.done.count("write")
    for words in ("one", "two", "three"):
        talk(history, words)
    await until(lambda: server.count("saved") == 2)
    assert (server.count("rejected"), server.count("failed"), server.count("lost")) == (1, 0, 0)
    assert users(history) == ["one", "two", "three"]
    assert server.memory.link.healthy
    await server.stop()
    assert [turn[0] for turn in (await store.turns(KEY))] == [
        UserMessage("one"),
        UserMessage("three"),
    ]
    assert store.done.count("write") == before + 3, "nothing is tried again"
    assert "what the user said" not in caplog.text


async def test_a_history_that_cannot_be_read_keeps_nobody_waiting() -> None:
    store = FlakyDatabase()
    broken: list[HistoryItem] = [UserMessage("broken"), AssistantMessage("yes")]
    await store.look(lambda memory: memory.save_turn(KEY, broken))
    store.rejected = "broken"
    server = Server(store)
    history = await server.connect(A)
    assert users(history) == []
    before = store.done.count("read")
    talk(history, "one")
    await until(lambda: server.count("saved") == 1)
    assert store.done.count("read") == before, "nothing is tried again"
    await server.stop()


async def test_the_end_does_not_wait_for_a_store_that_hangs() -> None:
    store = FlakyDatabase()
    server = Server(store, flush=0.1)
    history = await server.connect(A)
    store.hanging = True
    talk(history, "one")
    await asyncio.sleep(0)
    await server.stop()  # returns while the store hangs
    store.hanging = False


async def test_the_end_waits_for_what_is_being_written() -> None:
    store = FlakyDatabase()
    server = Server(store)
    for number in range(50):
        history = server.histories.get(f"02:00:00:00:01:{number:02x}")
        for turn in range(5):
            talk(history, str(turn))
    await server.stop()
    known = await store.look(lambda memory: memory.known())
    assert len(known) == 50
    assert [len(await store.turns(each.key)) for each in known] == [5] * 50
    assert store.done[-1] == "close"


async def test_nothing_is_left_behind(tmp_path: Path) -> None:
    before = asyncio.all_tasks(), set(threading.enumerate())
    server = Server(tmp_path / "memory.db")
    server.memory.start()
    talk(await server.connect(A), "one")
    await server.stop()
    assert asyncio.all_tasks() == before[0]
    left = set(threading.enumerate()) - before[1]
    assert not [thread for thread in left if thread.name == "vixio-memory"]


async def test_the_store_runs_in_a_thread_of_its_own() -> None:
    """The event loop makes no call of the store, not even to make it."""
    threads: set[str] = set()

    class Noting(FlakyDatabase):
        def __init__(self) -> None:
            super().__init__()
            threads.add(threading.current_thread().name)

        async def _at(self, what: str) -> None:
            threads.add(threading.current_thread().name)
            await super()._at(what)

        async def close(self) -> None:
            threads.add(threading.current_thread().name)
            await super().close()

    server = Server(Noting)
    server.memory.start()
    talk(await server.connect(A), "one")
    await server.memory.facts.add(A, "likes tea")
    await server.stop()
    assert threads == {"vixio-memory"}


async def test_a_damaged_file_is_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(b"rubbish " * 1000)
    server = Server(path)
    server.memory.start()
    history = await server.connect(A)
    talk(history, "one")
    assert users(await server.connect(A)) == ["one"]
    await until(lambda: server.count("failed") >= 4)
    await server.stop()
    kept, *others = [record for record in caplog.records if record.levelname == "WARNING"]
    assert "move it away" in str(vars(kept)["reason"])
    assert {record.message for record in others} <= {"turns were not saved in time"}
