"""What some steps do in the middle of the measurement: slow providers, a restart, a dead node."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from vixio_bench.load.cluster_figures import Killed
from vixio_bench.load.control import BenchError, Json
from vixio_bench.load.figures import QUIET_GROUP, SLOW_GROUP, share
from vixio_bench.load.mixes import BLOCKED
from vixio_bench.load.running import Running
from vixio_bench.load.usage import Spread

SLOW_ASR_S = 0.3
BLOCK_S = 2.0
BACK_S = 60.0
"""All devices have to be back so long after a kill."""
_LOOK_S = 0.05


class SlowProviders:
    """First half: all quick. Second half: half of the devices have a slow ASR."""

    def __init__(self, run: Running) -> None:
        self._run = run
        self._below = run.devices // 2

    async def hold(self) -> Json:
        """Let the measurement's time pass; return the server's answer to "begin"."""
        run = self._run
        await run.wait(run.hold / 2, "all quick")
        first = await run.server.ask("figures")
        others = [turn for turn in first["turns"] if _number(turn) >= self._below]
        run.result.groups[QUIET_GROUP] = share(_answered(others), 0.0)
        before = await run.server.ask("begin")
        await run.server.ask(
            "delays",
            slow_asr=SLOW_ASR_S,
            slow_below=self._below,
            blocked=BLOCKED,
            block=BLOCK_S,
        )
        await run.wait(run.hold / 2, "some slow")
        return before

    def judge(self, figures: Json) -> None:
        """Take the server's figures of the second half."""
        turns = _answered(figures["turns"])
        slow = [turn for turn in turns if _number(turn) < self._below]
        others = [turn for turn in turns if _number(turn) >= self._below]
        result = self._run.result
        result.groups[SLOW_GROUP] = result.share = share(others, 0.0)
        result.groups["slow ones, their ASR off"] = share(
            [turn for turn in slow if _number(turn) != BLOCKED], 1000 * SLOW_ASR_S
        )


async def hold_restart(run: Running) -> tuple[list[Json], Json]:
    """Kill the server in the middle of conversations and start it again on its port.

    Returns the answers of generators and server to "begin".
    """
    await run.wait(run.hold / 2, "before the restart")
    befores = await run.of_generators("begin")
    said = run.server.said
    await run.server.kill()
    killed = time.monotonic()
    await run.start_server(said["port"])
    run.result.seconds["server_back"] = round(time.monotonic() - killed, 3)
    before = await run.server.ask("begin")
    await _all_back(run, killed)
    await run.wait(run.hold / 2, "after the restart")
    return befores, before


class KilledNode:
    """One node is killed half-way; what is measured afterwards is the nodes that are left."""

    def __init__(self, run: Running) -> None:
        self._run = run
        self._at = 0.0
        self._devices = 0
        self._turns_before: list[Json] = []
        self._response_before: list[float] = []

    async def hold(self) -> tuple[list[Json], Json]:
        """Let the measurement's time pass; return as :func:`hold_restart`."""
        run = self._run
        await run.wait(run.hold / 2, "before the kill")
        self._turns_before = _answered((await run.server.ask("figures"))["turns"])
        heard = await run.of_generators("figures")
        self._response_before = _together(heard, "response_ms")
        befores = await run.of_generators("begin")
        nodes = len(run.server)
        self._devices, self._at = await run.server.kill_last()
        before = await run.server.ask("begin")
        left = len(run.server) / nodes
        run.idle_cpu *= left
        run.result.idle_rss = int(run.result.idle_rss * left)
        await _all_back(run, self._at)
        await run.wait(run.hold / 2, "after the kill")
        return befores, before

    def judge(self, figures: Json, generators: Sequence[Json], delays_ms: float) -> None:
        """Take the figures of servers and generators since the kill."""
        back = _together(generators, "back")
        moved = {number for number, _ in back}
        turns = _answered(figures["turns"])
        of_moved = [turn for turn in turns if _number(turn) in moved]
        others = [turn for turn in turns if _number(turn) not in moved]
        counts = self._run.result.counts
        self._run.result.killed = Killed(
            devices=self._devices,
            greeted=Spread.of(1000 * (at - self._at) for _, at in back),
            answered=len({_number(turn) for turn in of_moved}),
            cut=counts.get("cut", 0),
            lost=counts.get("lost", 0),
            share_before=share(self._turns_before, delays_ms),
            share_moved=share(of_moved, delays_ms),
            share_others=share(others, delays_ms),
            response_before=Spread.of(self._response_before),
            response_after=self._run.result.response,
        )


async def _all_back(run: Running, killed: float) -> None:
    """Wait until all devices are connected again; note how long after the kill that was."""
    while (await run.server.ask("now"))["connected"] < run.devices:
        if time.monotonic() - killed > BACK_S:
            raise BenchError(f"not all devices came back within {BACK_S:g} s of the kill")
        await asyncio.sleep(_LOOK_S)
    run.result.seconds["all_back"] = round(time.monotonic() - killed, 3)


def _together(answers: Sequence[Json], name: str) -> list[Any]:
    return [each for answer in answers for each in answer[name]]


def _number(turn: Json) -> int:
    """The device's number, from the end of its address."""
    high, low = turn["device"].split(":")[-2:]
    return int(high, 16) << 8 | int(low, 16)


def _answered(turns: list[Json]) -> list[Json]:
    return [turn for turn in turns if turn["outcome"] == "answered"]
