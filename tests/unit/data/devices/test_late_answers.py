"""Answers of the database that come late, as on a busy machine or over a slow network."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.registry import device_tokens
from tests.support.registry_databases import Make
from tests.support.running_registry import KITCHEN, Here, claimed, registry_of, running
from tests.support.waiting import until
from vixio.core.metrics import Counters
from vixio.core.wall_clock import now_ms
from vixio.data.database.database import Database, Transaction
from vixio.data.database.link import Trouble
from vixio.data.devices.records import AccessMode


class Slow(Database):
    """A database that begins to work, and whose answers arrive, when they are let: as on a busy
    machine."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.place = database.place
        self.asked, self.may_begin = threading.Event(), threading.Event()
        self.answered, self.may_arrive = threading.Event(), threading.Event()
        self.may_begin.set()
        self.may_arrive.set()

    async def open(self) -> None:
        await self._database.open()

    async def close(self) -> None:
        await self._database.close()

    @asynccontextmanager
    async def transaction(self, *, write: bool = True) -> AsyncIterator[Transaction]:
        self.asked.set()
        await asyncio.to_thread(self.may_begin.wait)
        async with self._database.transaction(write=write) as transaction:
            yield transaction
        self.answered.set()
        await asyncio.to_thread(self.may_arrive.wait)

    def trouble(self, error: Exception) -> Trouble:
        return self._database.trouble(error)

    async def changed(self) -> bool:
        return await self._database.changed()


@pytest.mark.slow
async def test_an_old_answer_does_not_send_away_a_device_that_was_claimed_since(
    make: Make,
) -> None:
    tokens, counters, slow = device_tokens(), Counters(), Slow(make())
    async with running(make, tokens=tokens) as there:
        assert await there.visit() == ""
        registry = registry_of(lambda: slow, AccessMode.ACTIVATION, counters, tokens)
        here = Here(registry, there.repository, counters)
        slow.may_arrive.clear()
        registry.start()  # it reads that the device waits for its claim
        assert await asyncio.to_thread(slow.answered.wait, 60)
        token = await claimed(there)
        assert here.refused(token) == ""
        slow.may_arrive.set()
        await until(lambda: registry.stats()["devices_claimed"])
        assert here.sent_away == []
        await there.repository.forget(KITCHEN, "me")  # at once: the token is still a new one
        await until(lambda: here.sent_away)
        await registry.stop()


@pytest.mark.slow
async def test_a_device_that_is_forgotten_before_anything_was_read_is_sent_away(
    make: Make,
) -> None:
    tokens, slow = device_tokens(), Slow(make())
    registry = registry_of(lambda: slow, AccessMode.ACTIVATION, Counters(), tokens)
    async with running(make, tokens=tokens) as there:
        here = Here(registry, there.repository, Counters())
        slow.may_begin.clear()
        registry.start()
        token = await claimed(there)
        assert here.refused(token) == ""
        await there.repository.forget(KITCHEN, "me")
        slow.may_begin.set()
        await until(lambda: here.sent_away)
        await registry.stop()


async def test_a_claim_during_a_visit_does_not_make_its_token_void(make: Make) -> None:
    tokens, counters, slow = device_tokens(), Counters(), Slow(make())
    registry = registry_of(lambda: slow, AccessMode.ACTIVATION, counters, tokens)
    async with running(make, tokens=tokens) as there:
        here = Here(registry, there.repository, counters)
        assert await here.visit() == ""
        slow.asked.clear()
        slow.may_begin.clear()
        visiting = asyncio.create_task(here.visit())
        assert await asyncio.to_thread(slow.asked.wait, 60)
        asked_at = now_ms()
        await until(lambda: now_ms() > asked_at)
        await there.repository.add(KITCHEN, "me")
        slow.may_begin.set()
        token = await visiting
        _, issued, *_ = token.split(".")
        assert int(issued) >= (await there.repository.device(KITCHEN)).tokens_from
        await registry.stop()
