"""A connected device follows what is edited beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.waiting import until
from tests.unit.data.memory.doubles import FlakyDatabase, Server, opened, talk, users
from vixio.core.backoff import Backoff
from vixio.core.history import (
    AssistantMessage,
    HistoryItem,
    Summary,
)
from vixio.data.database import link as link_module
from vixio.data.memory.records import device_key

A, B = "02:00:00:00:00:0A", "02:00:00:00:00:0B"
KEY = device_key(A)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_module, "RETRIES", Backoff(first=0.02, longest=0.05))


async def test_a_connected_device_follows_a_change_of_its_summary(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    server = Server(path)
    history = await server.connect(A)
    talk(history, "one")
    await until(lambda: server.count("saved") == 1)
    async with opened(path) as beside:
        await beside.save_summary(KEY, "Ada likes tea.", keep=None)
    turn_id = history.next_turn_id()
    history.begin(turn_id, "two")
    await server.memory.reload(A)
    await server.memory.reload(B)  # it is not here
    await history.ready()
    assert history.items()[0] == Summary("Ada likes tea.")
    assert users(history) == ["one", "two"], "the turn under way stays, and nothing comes twice"
    history.append(turn_id, AssistantMessage("yes"))
    history.close(turn_id)
    await until(lambda: server.count("saved") == 2)
    async with opened(path) as beside:
        assert len((await beside.load(KEY)).turns) == 2
        await beside.clear(KEY)
    await server.memory.reload(A)
    await history.ready()
    assert list(history.items()) == []
    await server.stop()


async def test_a_summary_being_written_does_not_replace_an_edited_one() -> None:
    store, asked, go_on = FlakyDatabase(), asyncio.Event(), asyncio.Event()

    async def summarise(before: str, items: Sequence[HistoryItem]) -> str:
        asked.set()
        await go_on.wait()
        return "of the model"

    server = Server(store, max_turns=4, summarise=summarise)
    history = await server.connect(A)
    for number in range(4):
        talk(history, str(number))
    await asyncio.wait_for(asked.wait(), 30)
    await until(lambda: server.count("saved") == 4)
    await store.look(lambda memory: memory.save_summary(KEY, "of a person", keep=None))
    await server.memory.reload(A)
    go_on.set()
    await until(lambda: server.count("summed_up") == 1)
    await history.ready()
    assert history.items()[0] == Summary("of a person")
    await server.stop()
    assert (await store.look(lambda memory: memory.load(KEY))).summary == "of a person"
