"""Many calls at a time, on one instance and on several."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from tests.brokers.parts import LIMIT, Connect, Held, ask, serving
from tests.support.waiting import until
from vixio.bus import ToolBus
from vixio.bus.serving import ServingLimits
from vixio.core.errors import ToolError


async def test_two_hundred_calls_in_flight(caller: ToolBus, service: ToolBus, queue: str) -> None:
    held = Held()
    async with serving(service, queue, held, limits=ServingLimits(200)):
        calls = [asyncio.create_task(ask(caller, queue, number=n)) for n in range(200)]
        await until(lambda: len(held.begun) == 200, what="all calls to begin", seconds=LIMIT)
        held.go.set()
        assert await asyncio.gather(*calls) == [f"done {number}" for number in range(200)]
    assert len(caller.calls) == 0


async def test_no_more_calls_at_once_than_the_limit(
    caller: ToolBus, service: ToolBus, queue: str
) -> None:
    held = Held()
    async with serving(service, queue, held, limits=ServingLimits(2, backlog=50)):
        calls = [asyncio.create_task(ask(caller, queue, number=n)) for n in range(10)]
        await until(lambda: len(held.begun) == 2, what="two calls", seconds=LIMIT)
        await asyncio.sleep(0)
        assert len(held.begun) == 2
        held.go.set()
        assert sorted(await asyncio.gather(*calls)) == sorted(f"done {n}" for n in range(10))


async def test_calls_beyond_the_backlog_are_refused(
    caller: ToolBus, service: ToolBus, queue: str
) -> None:
    """Unless the broker keeps them until their turn, as a queue does."""
    held = Held()
    async with serving(service, queue, held, limits=ServingLimits(1, backlog=1)):
        calls = [asyncio.create_task(ask(caller, queue, number=n)) for n in range(6)]
        await until(lambda: len(held.begun) == 1, what="a call", seconds=LIMIT)
        if caller.broker.address.backend == "nats":
            done, _ = await asyncio.wait(calls, timeout=LIMIT, return_when=asyncio.FIRST_EXCEPTION)
            errors = [task.exception() for task in done]
            assert all(isinstance(error, ToolError) and error.type == "busy" for error in errors)
        held.go.set()
        answers = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(each, str | ToolError) for each in answers)
    assert sum(isinstance(each, str) for each in answers) >= 2
    assert len(set(held.begun)) == len(held.begun)


async def test_instances_share_the_load(caller: ToolBus, connected: Connect, queue: str) -> None:
    each: list[Held] = [Held(), Held(), Held()]
    limits = ServingLimits(24)
    async with AsyncExitStack() as stack:
        for held in each:
            bus = await connected()
            await stack.enter_async_context(serving(bus, queue, held, limits=limits))
        calls = [asyncio.create_task(ask(caller, queue, number=n)) for n in range(24)]
        await until(
            lambda: sum(len(held.begun) for held in each) == 24,
            what="all calls to begin",
            seconds=LIMIT,
        )
        for held in each:
            held.go.set()
        assert await asyncio.gather(*calls) == [f"done {number}" for number in range(24)]
    assert {which for held in each for which in held.begun} == set(range(24))
    assert sum(len(held.begun) for held in each) == 24
    assert sum(bool(held.begun) for held in each) >= 2
