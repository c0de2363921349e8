"""Devices in conversation that notice what is lost, said twice, or meant for another device."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from firmware_test_client import DeviceConfig, SimulatedDevice
from firmware_test_client.errors import DeviceError

REPLY_S = 30.0
PAUSE_S = 0.3


class Talker:
    """One device that says a turn after another, wherever it is connected.

    A turn whose reply does not come is said again on the next connection, as a person would.
    """

    def __init__(self, number: int, ota_url: str) -> None:
        self.name = f"d{number}"
        self.config = DeviceConfig(
            ota_url=ota_url,
            device_id=f"02:00:00:00:{number // 256:02x}:{number % 256:02x}",
            mode="manual",
            hello_timeout=20,
            decode=False,
            keep_frames=False,
        )
        self.done = 0
        """Turns whose replies were heard whole."""
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

    async def talk(self) -> None:
        """Talk until it is cancelled."""
        while True:
            device = SimulatedDevice(self.config)
            try:
                await device.start()
                self.connects += 1
                while not self._leaves:
                    await self._turn(device)
                    await asyncio.sleep(PAUSE_S)
                self._leaves = False
            except DeviceError:
                self.cut += sum(reply.cut for reply in device.replies)
            finally:
                with suppress(DeviceError):
                    await device.close()
            await asyncio.sleep(PAUSE_S)

    async def _turn(self, device: SimulatedDevice) -> None:
        number = self.done + 1
        self.attempts[number] += 1
        reply = await device.type_text(f"turn {number} of {self.name}", timeout=REPLY_S)
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
        goal = {each: each.done + turns for each in self.talkers}
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

    def check(self, *, lost: int = 0) -> None:
        """Check that nothing was doubled or crossed, and at most ``lost`` turns of each lost."""
        faults = [fault for each in self.talkers for fault in each.faults]
        assert not faults, faults[:5]
        losers = {each.name: sorted(each.lost) for each in self.talkers if len(each.lost) > lost}
        assert not losers, losers


@asynccontextmanager
async def crowd(count: int, ota_url: str) -> AsyncIterator[Crowd]:
    """Have so many devices talk until the end of the context."""
    talkers = [Talker(number, ota_url) for number in range(1, count + 1)]
    tasks = [asyncio.create_task(each.talk()) for each in talkers]
    try:
        yield Crowd(talkers, tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
