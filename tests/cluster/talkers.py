"""Devices in conversation that notice what is lost, said twice, or meant for another device."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import asyncpg

from firmware_test_client import DeviceConfig, SimulatedDevice
from firmware_test_client.errors import DeviceError

REPLY_S = 30.0
PAUSE_S = 0.3
REST_S = 2.0
"""Between turns that nobody waits for."""


class Talker:
    """One device that says a turn after another, wherever it is connected.

    A turn whose reply does not come is said again on the next connection, as a person would.
    ``reply``: the seconds for which it waits for one.
    """

    def __init__(self, number: int, ota_url: str, reply: float = REPLY_S) -> None:
        self.name = f"d{number}"
        self.config = DeviceConfig(
            ota_url=ota_url,
            device_id=f"02:00:00:00:{number // 256:02x}:{number % 256:02x}",
            mode="manual",
            hello_timeout=20,
            decode=False,
            keep_frames=False,
        )
        self._reply = reply
        self.done = 0
        """Turns whose replies were heard whole."""
        self.speaks = False
        """Whether a turn is under way."""
        self._goal = 0
        self._wanted = asyncio.Event()
        self.attempts: Counter[int] = Counter()
        self.connects = 0
        self.cut = 0
        """Replies that ended with the connection."""
        self.faults: list[str] = []
        self._leaves = False
        self.lost: set[int] = set()
        """Turns that were heard whole, and that the conversation did not have later."""

    def leave(self) -> None:
        """Connect anew after this turn."""
        self._leaves = True

    def want(self, turns: int) -> int:
        """Have so many more turns soon; return how many there are then."""
        self._goal = self.done + turns
        self._wanted.set()
        return self._goal

    async def talk(self) -> None:
        """Talk until it is cancelled."""
        while True:
            device = SimulatedDevice(self.config)
            try:
                await device.start()
                self.connects += 1
                while not self._leaves:
                    self.speaks = True
                    try:
                        await self._turn(device)
                    finally:
                        self.speaks = False
                    await self._pause()
                self._leaves = False
            except DeviceError:
                self.cut += sum(reply.cut for reply in device.replies)
            finally:
                with suppress(DeviceError):
                    await device.close()
            await asyncio.sleep(PAUSE_S)

    async def _pause(self) -> None:
        if self.done < self._goal:
            await asyncio.sleep(PAUSE_S)
            return
        self._wanted.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(REST_S):
                await self._wanted.wait()

    async def _turn(self, device: SimulatedDevice) -> None:
        number = self.done + 1
        self.attempts[number] += 1
        reply = await device.type_text(f"turn {number} of {self.name}", timeout=self._reply)
        if reply.cut:
            return
        match = re.fullmatch(r"turn (\d+) of (\w+) after (.*) for \d+ ms\.", reply.text)
        if match is None or (int(match[1]), match[2]) != (number, self.name):
            self.faults.append(f"{self.name} asked {number}, was told {reply.text!r}")
            return
        known = _counted(match[3])
        self.lost |= {turn for turn in range(1, number) if (self.name, turn) not in known}
        for turn in range(1, number):
            times = known.pop((self.name, turn), 0)
            if times > self.attempts[turn]:
                self.faults.append(f"{self.name}: turn {turn} is there {times} times")
        # Of this turn, an attempt before this one may be there.
        known.pop((self.name, number), 0)
        if known:
            self.faults.append(f"{self.name} knows of {dict(known)}")
        self.done = number


def _counted(text: str) -> dict[tuple[str, int], int]:
    """Return how often each turn is named in what ``node.short`` made."""
    found: dict[tuple[str, int], int] = {}
    for word in text.split("_"):
        if match := re.fullmatch(r"(\w+)x(\d+)x(\d+)-(\d+)", word):
            for turn in range(int(match[3]), int(match[4]) + 1):
                found[match[1], turn] = int(match[2])
    return found


class Crowd:
    """Many of them."""

    def __init__(self, talkers: list[Talker], tasks: list[asyncio.Task[None]]) -> None:
        self.talkers = talkers
        self._tasks = tasks

    async def all_say(self, turns: int, *, seconds: float) -> None:
        """Wait until each device has had so many more turns."""
        goal = {each: each.want(turns) for each in self.talkers}
        try:
            async with asyncio.timeout(seconds):
                while any(each.done < goal[each] for each in self.talkers):
                    for task in self._tasks:
                        if task.done():
                            task.result()
                    await asyncio.sleep(0.05)
        except TimeoutError:
            late = [f"{each.name}: {each.done}" for each in self.talkers if each.done < goal[each]]
            raise AssertionError(f"no more turns within {seconds:g} s: {late}") from None

    async def all_speak(self, database: str, *, seconds: float) -> None:
        """Wait until what was said is written, and many devices are in the middle of a turn.

        What is done to the server next finds it at work, whatever the speed of the machine; and
        where a node is killed, one turn of each conversation at most is lost, the last one.
        """
        written = False
        speaking = 0
        try:
            async with asyncio.timeout(seconds):
                async with _written(database) as turns:
                    while not written:
                        written = await turns() >= self._to_be_written()
                        await asyncio.sleep(0.05)
                for each in self.talkers:
                    each.want(1)
                while 3 * speaking < len(self.talkers):
                    await asyncio.sleep(0.01)
                    speaking = sum(each.speaks for each in self.talkers)
        except TimeoutError:
            raise AssertionError(f"within {seconds:g} s: {written=}, {speaking=}") from None

    def _to_be_written(self) -> set[tuple[str, int]]:
        return {
            (each.name, turn)
            for each in self.talkers
            for turn in range(1, each.done)  # without the last one
            if turn not in each.lost
        }

    def check(self, *, lost: int = 0) -> None:
        """Check that nothing was doubled or crossed, and at most ``lost`` turns of each lost."""
        faults = [fault for each in self.talkers for fault in each.faults]
        assert not faults, faults[:5]
        losers = {each.name: sorted(each.lost) for each in self.talkers if len(each.lost) > lost}
        assert not losers, losers


@asynccontextmanager
async def _written(database: str) -> AsyncIterator[Callable[[], Awaitable[set[tuple[str, int]]]]]:
    """Yield what returns the turns that are in the conversations of a database."""
    connection = await asyncpg.connect(database)

    async def turns() -> set[tuple[str, int]]:
        rows = await connection.fetch("SELECT item FROM memory_items")
        found = (re.search(r'"turn (\d+) of (\w+)"', row[0]) for row in rows)
        return {(match[2], int(match[1])) for match in found if match}

    try:
        yield turns
    finally:
        await connection.close()


@asynccontextmanager
async def crowd(count: int, ota_url: str, reply: float = REPLY_S) -> AsyncIterator[Crowd]:
    """Have so many devices talk until the end of the context."""
    talkers = [Talker(number, ota_url, reply) for number in range(1, count + 1)]
    tasks = [asyncio.create_task(each.talk()) for each in talkers]
    try:
        yield Crowd(talkers, tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
