"""Turns are found among all, page by page, and a search goes through a bounded number of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.support.registry_databases import Make
from vixio.data.conversations import search
from vixio.data.conversations.records import TurnRecord
from vixio.data.conversations.repository import ConversationRepository
from vixio.data.conversations.search import LAST, Place, TurnQuery, find_turns
from vixio.data.database.database import Database
from vixio.data.devices.repository import DeviceRepository

KITCHEN = "02:00:00:00:00:01"
BATH = "02:00:00:00:00:02"

TURNS = (
    TurnRecord(KITCHEN, "a", 1, 10, heard="Good morning", said="100% Sunny", outcome="answered"),
    TurnRecord(KITCHEN, "a", 2, 20, heard="打开客厅的灯", said="好的。", outcome="answered"),
    TurnRecord(KITCHEN, "b", 1, 30, guess="sunny", outcome="not_understood", profile="kids"),
    TurnRecord(BATH, "c", 1, 40, heard="Öffne die Tür", outcome="failed:agent", profile="kids"),
    TurnRecord(
        BATH, "c", 2, 40, heard="stop", said="It's 100_ sunny!", outcome="interrupted:abort"
    ),
    TurnRecord("chat", "d", 1, 50, heard="sunny morning", said="No, Привет.", outcome="failed"),
)


@pytest_asyncio.fixture
async def database(make: Make) -> AsyncIterator[Database]:
    """Give a database with two devices, one of them Anna's, and some turns."""
    database = make()
    await database.open()
    devices = DeviceRepository(database)
    await devices.add(KITCHEN, "me", name="Kitchen")
    await devices.add(BATH, "me")
    await devices.people.add("Anna", "me")
    await devices.give(KITCHEN, "Anna", "me")
    await ConversationRepository(database).write(TURNS)
    yield database
    await database.close()


async def found(database: Database, **query: Any) -> list[tuple[str, int]]:  # noqa: ANN401
    """Return the turns that a query finds."""
    turns, more = await find_turns(database, TurnQuery(**query))
    assert more is None
    return [(turn.session_id, turn.turn) for turn, _ in turns]


async def test_words(database: Database) -> None:
    assert await found(database, words="SUNNY") == [("d", 1), ("c", 2), ("a", 1)]
    assert await found(database, words="orni sun") == [("d", 1), ("a", 1)]
    assert await found(database, words="客厅") == [("a", 2)]
    assert await found(database, words="灯 好的") == [("a", 2)]
    assert await found(database, words="öffne") == [("c", 1)]
    assert await found(database, words="ÖFFNE TÜR") == [("c", 1)]
    assert await found(database, words="привет") == [("d", 1)]
    assert await found(database, words="100%") == [("a", 1)]
    assert await found(database, words="100_") == [("c", 2)]
    assert await found(database, words="sunny!") == [("c", 2)]
    assert await found(database, words="'; DROP TABLE turns") == []


async def test_device_person_profile_outcome_time(database: Database) -> None:
    (anna,) = await DeviceRepository(database).people.all()
    assert await found(database, device_id=BATH) == [("c", 2), ("c", 1)]
    assert await found(database, person=anna.id) == [("b", 1), ("a", 2), ("a", 1)]
    assert await found(database, person="nobody") == []
    assert await found(database, profile="kids") == [("c", 1), ("b", 1)]
    assert await found(database, outcome="failed") == [("d", 1), ("c", 1)]
    assert await found(database, outcome="interrupted") == [("c", 2)]
    assert await found(database, after=20, before=40) == [("b", 1), ("a", 2)]
    assert await found(database, words="sunny", device_id=KITCHEN, before=11) == [("a", 1)]
    ((turn, name), *_), _ = await find_turns(
        database, TurnQuery(words="morning", device_id=KITCHEN)
    )
    assert (turn, name) == (TURNS[0], "Kitchen")
    ((_, name),), _ = await find_turns(database, TurnQuery(words="morning", after=50))
    assert name == ""


async def test_pages(database: Database) -> None:
    pages: list[list[int]] = []
    at: Place | None = LAST
    while at is not None:
        turns, more = await find_turns(database, TurnQuery(), at, 2)
        pages.append([turn.at for turn, _ in turns])
        assert more is None or more == Place(*_key(turns[-1][0]))
        at = more
    assert pages == [[50, 40], [40, 30], [20, 10]]


async def test_a_search_ends_and_goes_on(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "SEARCHED", 4)
    turns, more = await find_turns(database, TurnQuery(words="morning"))
    assert [turn.at for turn, _ in turns] == [50]
    assert more == Place(*_key(TURNS[2]))
    turns, more = await find_turns(database, TurnQuery(words="morning"), more)
    assert [turn.at for turn, _ in turns] == [10]
    assert more is None
    monkeypatch.setattr(search, "SEARCHED", len(TURNS))
    turns, more = await find_turns(database, TurnQuery(words="morning"))
    assert [turn.at for turn, _ in turns] == [50, 10]
    assert more == Place(*_key(TURNS[0]))
    assert await find_turns(database, TurnQuery(words="morning"), more) == ([], None)
    turns, more = await find_turns(database, TurnQuery(words="灯", device_id=KITCHEN))
    assert ([turn.turn for turn, _ in turns], more) == ([2], None)


def _key(turn: TurnRecord) -> tuple[int, int, str]:
    return turn.at, turn.turn, turn.session_id
