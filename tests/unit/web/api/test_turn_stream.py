"""Answers with thousands of turns are made part by part."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar, cast

import pytest

from vixio.data.conversations.records import TurnRecord
from vixio.data.conversations.repository import PART, ConversationRepository, Turns
from vixio.data.database.create import make_database
from vixio.data.database.database import Database
from vixio.transports.admission.access import RegistryUnavailable
from vixio.web.api.service import ApiService
from vixio.web.api.turn_stream import TurnStream

KITCHEN = "02:00:00:00:00:01"
NUMBER = 2 * PART + 5

T = TypeVar("T")


class Registry:
    """The database of an ApiService, which fails after so many uses."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.uses = 0
        self.fails_at = 0

    async def use(self, work: Callable[[Database], Awaitable[T]]) -> T:
        self.uses += 1
        if self.uses == self.fails_at:
            raise RegistryUnavailable("the disk is gone")
        return await work(self.database)

    async def begin(self, turns: Turns) -> TurnStream:
        return await TurnStream.begin(cast("ApiService", self), turns)


@pytest.fixture
async def registry(tmp_path: Path) -> AsyncIterator[Registry]:
    database = make_database(tmp_path, "")
    await database.open()
    await ConversationRepository(database).write(written())
    yield Registry(database)
    await database.close()


def written() -> list[TurnRecord]:
    return [TurnRecord(KITCHEN, "s", turn, 1_000 + turn, "好") for turn in range(NUMBER)]


async def text(stream: TurnStream) -> str:
    return "".join([str(piece) async for piece in stream.body_iterator])


async def test_all_turns_are_one_document(registry: Registry) -> None:
    stream = await registry.begin(Turns.of_device(KITCHEN))
    assert registry.uses == 1, "the first part is read before the status is sent"
    assert not stream.empty
    assert json.loads(await text(stream)) == {"turns": [asdict(each) for each in written()]}
    assert registry.uses == 4, "three parts, and none behind them"


async def test_there_are_no_turns(registry: Registry) -> None:
    stream = await registry.begin(Turns.of_session("none"))
    assert stream.empty
    assert json.loads(await text(stream)) == {"turns": []}


async def test_a_database_that_fails_on_the_way_leaves_no_whole_document(
    registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    registry.fails_at = 1
    with pytest.raises(RegistryUnavailable):
        await registry.begin(Turns.of_device(KITCHEN))
    registry.uses, registry.fails_at = 0, 3
    with caplog.at_level(logging.WARNING, "vixio.web.api"):
        broken = await text(await registry.begin(Turns.of_device(KITCHEN)))
    assert len(json.loads(broken + "]}")["turns"]) == 2 * PART
    assert [each.message for each in caplog.records] == ["an answer with turns was not finished"]
