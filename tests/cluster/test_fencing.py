"""Two nodes never speak as one device's assistant, wherever a process stands still.

The processes are real and are stopped by SIGSTOP, at each step of a claim: before each piece that
goes between a node and the broker. The device connects elsewhere meanwhile, then the process goes
on.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cluster import member
from tests.cluster.gate import Gate, gate
from tests.support import warm
from tests.support.nats_nodes import JetStreamServer

BOUND = 60.0
STEPS = range(9)
"""More than a claim with a holder before it has; the last ones find the process at rest."""

BETWEEN_S = 0.5
"""Between two connections of a device. Of two that begin within the time that a message takes,
which may be long on a busy machine, either may be taken for the younger one."""


class MemberProcess:
    """A member behind its gate."""

    def __init__(self, process: Process, gate: Gate) -> None:
        self.process = process
        self.gate = gate
        self.lines: list[str] = []

    async def line(self, *beginnings: str) -> str:
        """Return the next line that begins so."""
        assert self.process.stdout is not None
        async with asyncio.timeout(BOUND):
            while raw := await self.process.stdout.readline():
                self.lines.append(raw.decode().strip())
                if self.lines[-1].startswith(beginnings):
                    return self.lines[-1]
        raise AssertionError(f"it ended: {self.lines}")

    def tell(self, word: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word}\n".encode())

    async def acquire(self) -> str:
        self.tell("acquire")
        return await self.line("granted", "refused")

    async def spoken(self) -> list[float]:
        self.tell("spoke")
        found: list[float] = []
        while (line := await self.line("spoke")) != "spoken":
            found += json.loads(line.removeprefix("spoke "))
        return found

    def stop(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)

    async def stop_at(self, step: int) -> None:
        """Stop the process before the piece ``step`` of a claim; where there is none, at rest.

        What the node says besides, as its signs of life, counts too.
        """
        there = asyncio.Event()
        self.gate.close()
        self.tell("acquire")
        await self.line("begun")
        end = self.gate.passed + step

        def before(passed: int) -> None:
            if passed >= end and not there.is_set():
                self.stop()
                there.set()

        self.gate.before = before
        self.gate.open()
        try:
            async with asyncio.timeout(1.0):
                await there.wait()
        except TimeoutError:
            self.stop()
        finally:
            self.gate.before = lambda passed: None
        await asyncio.sleep(BETWEEN_S)


@asynccontextmanager
async def members(bus: JetStreamServer, count: int) -> AsyncIterator[list[MemberProcess]]:
    made: list[MemberProcess] = []
    async with _gates(bus.port, count) as gates:
        try:
            for number, each in enumerate(gates, 1):
                words = (sys.executable, "-m", member.__name__, each.url, f"m{number}")
                process = await warm.create_subprocess_exec(
                    *words, cwd=Path.cwd(), env=warm.kept(), stdin=PIPE, stdout=PIPE
                )
                made.append(MemberProcess(process, each))
            for one in made:
                await one.line("ready")
            yield made
        finally:
            for one in made:
                if one.process.returncode is None:
                    one.process.kill()
                await one.process.wait()


@asynccontextmanager
async def _gates(port: int, count: int) -> AsyncIterator[list[Gate]]:
    if not count:
        yield []
        return
    async with gate(port) as first, _gates(port, count - 1) as others:
        yield [first, *others]


def overlaps(one: list[float], two: list[float]) -> list[tuple[float, float]]:
    """Return where one spoke between two words of the other that are close together.

    A speaker notes each millisecond: what another one says between two notes within 20 ms is said
    at the same time.
    """
    return [
        (before, after)
        for before, after in pairwise(two)
        if after - before < 0.02 and any(before < time < after for time in one)
    ]


async def check(members: list[MemberProcess], last: MemberProcess) -> None:
    """Check that nobody spoke while another did, and that the last holder alone speaks now."""
    spoken = {each: await each.spoken() for each in members}
    for one in members:
        for two in members:
            assert one is two or not overlaps(spoken[one], spoken[two])
    before = {each: len(found) for each, found in spoken.items()}
    async with asyncio.timeout(BOUND):
        while len(await last.spoken()) < before[last] + 20:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.01)
    for each in members:
        assert each is last or len(await each.spoken()) == before[each]


@pytest.mark.parametrize("step", STEPS)
async def test_a_node_that_stands_still_while_it_takes_a_device_over(
    bus: JetStreamServer, step: int
) -> None:
    """The device gives up waiting for the second node, and connects to a third one."""
    async with members(bus, 3) as (first, second, third):
        assert (await first.acquire()).startswith("granted")
        await second.stop_at(step)
        assert (await third.acquire()).startswith("granted")
        second.go_on()
        await second.line("refused", "lost")
        await check([first, second, third], third)


@pytest.mark.parametrize("step", STEPS)
async def test_a_node_that_dies_while_it_takes_a_device_over(
    bus: JetStreamServer, step: int
) -> None:
    """The session of the node before it ends all the same when the device connects again."""
    async with members(bus, 3) as (first, second, third):
        assert (await first.acquire()).startswith("granted")
        await second.stop_at(step)
        second.process.kill()
        await second.process.wait()
        assert (await third.acquire()).startswith("granted")
        await check([first, third], third)


@pytest.mark.parametrize("step", STEPS)
async def test_a_holder_that_stands_still_while_its_device_moves(
    bus: JetStreamServer, step: int
) -> None:
    """The first node stands still in the middle of what the second one asks of it."""
    async with members(bus, 2) as (first, second):
        assert (await first.acquire()).startswith("granted")
        await asyncio.sleep(BETWEEN_S)
        end = first.gate.passed + step
        stopped = asyncio.Event()

        def before(passed: int) -> None:
            if passed >= end and not stopped.is_set():
                first.stop()
                stopped.set()

        first.gate.before = before
        assert (await second.acquire()).startswith("granted")
        first.gate.before = lambda passed: None
        if not stopped.is_set():
            first.stop()
        await asyncio.sleep(0.05)
        first.go_on()
        if "lost taken" not in first.lines:
            await first.line("lost")
        await check([first, second], second)


async def test_a_holder_that_stood_still_for_long_goes_on_if_it_may(bus: JetStreamServer) -> None:
    """A stall that costs nobody the device is over once the node has looked."""
    async with members(bus, 1) as (only,):
        assert (await only.acquire()).startswith("granted")
        only.stop()
        await asyncio.sleep(2.0)
        only.go_on()
        before = len(await only.spoken())
        async with asyncio.timeout(BOUND):
            while len(await only.spoken()) == before:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.01)
        assert "lost taken" not in only.lines


async def test_a_node_whose_way_to_the_broker_is_slow(bus: JetStreamServer) -> None:
    """A holder that hears nothing of the move ends its session once it does."""
    async with members(bus, 2) as (first, second):
        assert (await first.acquire()).startswith("granted")
        await asyncio.sleep(BETWEEN_S)
        first.gate.close()
        assert (await second.acquire()).startswith("granted")
        first.gate.open()
        await first.line("lost")
        spoken = len(await first.spoken())
        await asyncio.sleep(0.1)
        assert len(await first.spoken()) == spoken
