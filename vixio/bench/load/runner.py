"""Runs one step: a fresh server, fresh generators, ramp, hold, figures."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from vixio.bench.load.calibration import slowness
from vixio.bench.load.control import BenchError, Hub, Json
from vixio.bench.load.figures import (
    Result,
    growth,
    put_generators,
    put_server,
    put_services,
    put_turn_cost,
    share,
)
from vixio.bench.load.mixes import BLOCKED, Mix
from vixio.bench.load.probe import MANY_NOTES
from vixio.bench.load.processes import (
    Child,
    Cores,
    start_generators,
    start_services,
    usable_cores,
)
from vixio.bench.load.providers import Delays
from vixio.bench.load.server import ServerPlan
from vixio.bench.load.server_group import ServerGroup, start_server_group
from vixio.bench.load.services.choice import EDGE, SCRIPTED, sections
from vixio.bench.load.usage import Spread, children_kb, machine_busy

IDLE_S = 1.0
"""How long the idle server is watched before the devices come."""
IDLE_FOR_FEW_S = 15.0
"""The same for a few devices, whose own share is as small as the idle server's: so long, or half as
long as the measurement. It begins when the server has loaded everything."""
FEW_DEVICES = 10
SETTLE_S = 3.0
"""Between the last connect and the measurement."""
ALL_TALK_S = 7.0
"""Between the permission to speak and the measurement: then each device is in a turn."""
_LOOK_S = 1.0
SLOW_ASR_S = 0.3
BLOCK_S = 2.0
TURNS_S = 120.0
CHURN_NOTES = 1_000
"""Turns whose figures the server keeps in a long run, so that they are not what grows."""
CHURN_SETTLE = 0.25
"""Of a long run's time: until caches, pools and histories are full."""

Say = Callable[[str], None]
"""Takes a line about how far the run is."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to run. ``delays`` are those of the scripted providers."""

    cores: Cores = field(default_factory=Cores)
    generators: int = 1
    hold: float | None = None
    turns: int = 0
    """The measurement lasts until so many turns have ended, within ``TURNS_S`` more seconds."""
    delays: Delays = field(default_factory=Delays)
    settings: dict[str, Any] = field(default_factory=dict)
    """Sections of the server's settings that differ from the defaults."""
    tune: tuple[str, ...] = ()
    processes: int = 1
    """Of the server, on one port."""
    providers: str = SCRIPTED
    """Whose turns are measured."""
    slowness: float | None = None
    """Of the machine's cores, where it was measured before."""


class Step:
    """One mix with one number of devices."""

    def __init__(
        self,
        hub: Hub,
        mix: Mix,
        devices: int,
        options: Options,
        say: Say,
        ramp: float | None = None,
    ) -> None:
        self._hub = hub
        self._mix = mix
        self._devices = devices
        self._options = options
        self._say = say
        self._ramp = ramp if ramp is not None else mix.ramp
        self._hold = options.hold if options.hold is not None else mix.hold
        self._series: list[Json] = []
        self._idle_cpu = 0.0
        self._packet_cpu = 0.0
        """Seconds that a packet of the microphone costs while all only listen."""
        self._generators: list[Child] = []
        self._services: Child | None = None
        self._server: ServerGroup | None = None
        self.result = Result(
            mix.name,
            devices,
            server_cores=len(options.cores.server),
            usable_cores=len(usable_cores()),
            processes=options.processes,
            generators=min(options.generators, devices),
            providers=options.providers,
        )

    async def run(self) -> Result:
        """Return the figures. Raises BenchError."""
        cores = self.result.usable_cores
        self.result.slowness = self._options.slowness or round(await slowness(cores), 2)
        try:
            self._generators = await start_generators(
                self._hub, self.result.generators, self._options.cores.generators
            )
            if self._options.providers != SCRIPTED:
                self._services = await start_services(
                    self._hub,
                    self._options.providers,
                    self._mix.tool,
                    self._options.cores.generators,
                )
            await self._start_server()
            await self._idle()
            await self._come()
            await self._begin_turns()
            await self._measure()
            return self.result
        finally:
            for child in self._generators:
                await child.end()
            if self._server is not None:
                await self._server.end()
            if self._services is not None:
                await self._services.end()

    @property
    def server(self) -> ServerGroup:
        """The running server."""
        if self._server is None:
            raise BenchError("there is no server")
        return self._server

    # ── the parts of a step ─────────────────────────────────────────────────────────────────────

    async def _start_server(self, port: int = 0, http_port: int = 0) -> None:
        delays = self._options.delays
        services = self._services.peer.said if self._services is not None else {}
        plan = ServerPlan(
            self._hub.line("server"),
            port=port,
            http_port=http_port,
            cores=self._options.cores.server,
            default_set=self._mix.default_set,
            max_connections=max(1_000, 2 * self._devices),
            delays=Delays(delays.asr, delays.agent, delays.tts),
            tool=self._mix.tool,
            services=sections(self._options.providers, services),
            edge=services.get(EDGE, ""),
            settings=self._options.settings,
            tune=self._options.tune,
            processes=self._options.processes,
            max_notes=CHURN_NOTES if self._mix.behaviour == "churn" else MANY_NOTES,
        )
        self._server = await start_server_group(self._hub, plan)

    async def _idle(self) -> None:
        if self._mix.default_set:
            return  # the first device is to come as early as it can
        seconds = IDLE_S
        if self._devices < FEW_DEVICES:
            seconds = min(IDLE_FOR_FEW_S, self._hold / 2)
            await self._wait(min(SETTLE_S, seconds), "settles")
        before = await self.server.ask("now")
        await self._wait(seconds, "is idle")
        after = await self.server.ask("now")
        self.result.idle_rss = after["rss_kb"]
        self._idle_cpu = (after["cpu"] - before["cpu"]) / (after["at"] - before["at"])

    async def _come(self) -> None:
        """Have all devices connect."""
        url = f"ws://127.0.0.1:{self.server.said['port']}/xiaozhi/v1/"
        step = len(self._generators)
        ramp = self._ramp if self._ramp is not None else max(1.0, self._devices / 40)
        self._say(f"{self._mix.name}: preparing {self._devices} devices")
        await asyncio.gather(
            *(
                child.peer.ask(
                    "prepare",
                    timeout=300,
                    url=url,
                    first=index,
                    step=step,
                    total=self._devices,
                    behaviour=self._mix.behaviour,
                    pause=self._mix.pause,
                    blocks=BLOCK_S if self._mix.slow else 0.0,
                    asks=self._mix.asks,
                )
                for index, child in enumerate(self._generators)
            )
        )
        self._say(f"{self._mix.name}: {self._devices} devices connect within {ramp:g} s")
        began = time.monotonic()
        answers = await asyncio.gather(
            *(
                child.peer.ask("ramp", timeout=ramp + 120, seconds=ramp)
                for child in self._generators
            )
        )
        self.result.seconds["asked_ramp"] = ramp
        self.result.seconds["ramp"] = round(time.monotonic() - began, 3)
        self.result.hello = Spread.of(ms for answer in answers for ms in answer["hello_ms"])
        refused = sum(answer["counts"].get("refused", 0) for answer in answers)
        self.result.server_counters["ramp.refused"] = refused
        if self._mix.default_set:
            self.result.seconds["first_device"] = round(time.monotonic() - self.server.started, 3)
            await self.server.ask("loaded", timeout=120)
            self.result.seconds["loaded"] = round(time.monotonic() - self.server.started, 3)
        if self._mix.asks:
            await self._first_answers()
        if self._mix.hold > 3:
            await self._wait(SETTLE_S, "settles")

    async def _first_answers(self) -> None:
        """Note when the first device's question was answered, counted from the server's start."""
        answers = await asyncio.gather(
            *(child.peer.ask("answers", timeout=120) for child in self._generators)
        )
        first = min(at for answer in answers for at in answer["at"])
        self.result.seconds["first_answer"] = round(first - self.server.started, 3)
        if notices := sum(answer["notices"] for answer in answers):
            self.result.trouble.append(f"{notices} notices of loading before the first answer")

    async def _begin_turns(self) -> None:
        """Have the devices speak; find out first what it costs to listen to them."""
        if self._mix.quiet:
            devices, before = await self._now_of_generators(), await self.server.ask("now")
            await self._wait(self._mix.quiet, "only listens")
            devices_after, after = await self._now_of_generators(), await self.server.ask("now")
            packets = _packets(devices_after) - _packets(devices)
            used = after["cpu"] - before["cpu"] - self._idle_cpu * (after["at"] - before["at"])
            self._packet_cpu = max(0.0, used / max(1, packets))
        await asyncio.gather(*(child.peer.ask("talk") for child in self._generators))
        if self._mix.quiet:
            await self._wait(ALL_TALK_S, "settles")

    async def _measure(self) -> None:
        befores = await self._begin_generators()
        services_before = await self._services.peer.ask("begin") if self._services else {}
        before = await self.server.ask("begin")
        began, busy_before = time.monotonic(), machine_busy()
        if self._mix.slow:
            before = await self._hold_slow(before)
        elif self._mix.restart:
            befores, before = await self._hold_restart()
        else:
            await self._wait(self._hold, "holds")
            await self._wait_for_turns(before["turns"] + self._options.turns)
        elapsed, busy = time.monotonic() - began, machine_busy() - busy_before
        figures = await self.server.ask("figures")
        generators = [await child.peer.ask("figures") for child in self._generators]
        result, delays = self.result, self._options.delays
        refused = result.server_counters
        put_server(result, before, figures, 1000 * (delays.asr + delays.agent + delays.tts))
        result.server_counters.update(refused)
        put_generators(result, befores, generators)
        if self._services is not None:
            put_services(result, services_before, await self._services.peer.ask("figures"))
        if self._packet_cpu:
            packets = _packets([each["now"] for each in generators]) - _packets(befores)
            used = figures["now"]["cpu"] - before["cpu"] - self._idle_cpu * result.hold
            put_turn_cost(result, used - packets * self._packet_cpu, self._packet_cpu)
        ours = result.server_cpu + result.generator_cpu + result.services_cpu
        result.others = round(max(0.0, busy / elapsed - ours), 2)
        there = max(1, result.connected)
        result.cpu_per_device = round((result.server_cpu - self._idle_cpu) / there, 6)
        result.memory_per_device = round((result.rss - result.idle_rss) / there, 1)
        if self._mix.slow:
            await self._judge_slow(figures)
        if self._mix.behaviour == "churn":
            result.growth = growth(self._series, CHURN_SETTLE)
        if self._mix.default_set:
            result.idle_rss = result.rss
            result.memory_per_device = 0.0  # indistinguishable from the memory of its own start
            result.counts["children_rss_kb"] = sum(map(children_kb, self.server.pids))
        await asyncio.gather(*(child.peer.ask("leave", timeout=60) for child in self._generators))

    async def _now_of_generators(self) -> list[Json]:
        return list(await asyncio.gather(*(child.peer.ask("now") for child in self._generators)))

    async def _begin_generators(self) -> list[Json]:
        return list(await asyncio.gather(*(child.peer.ask("begin") for child in self._generators)))

    # ── what some mixes do in the middle ────────────────────────────────────────────────────────

    async def _wait_for_turns(self, turns: int) -> None:
        """Go on until ``turns`` have ended, for a test on a machine of any speed."""
        end = time.monotonic() + TURNS_S
        while time.monotonic() < end:
            now = await self.server.ask("now")
            if now["turns"] >= turns:
                return
            await asyncio.sleep(_LOOK_S)

    async def _hold_slow(self, before: Json) -> Json:
        """First half: all quick. Second half: half of the devices have a slow ASR."""
        await self._wait(self._hold / 2, "all quick")
        first = await self.server.ask("figures")
        others = [turn for turn in first["turns"] if _number(turn) >= self._slow_below]
        self.result.groups["others, all quick"] = share(_answered(others), 0.0)
        before = await self.server.ask("begin")
        await self.server.ask(
            "delays",
            slow_asr=SLOW_ASR_S,
            slow_below=self._slow_below,
            blocked=BLOCKED,
            block=BLOCK_S,
        )
        await self._wait(self._hold / 2, "some slow")
        return before

    @property
    def _slow_below(self) -> int:
        return self._devices // 2

    async def _judge_slow(self, figures: Json) -> None:
        turns = _answered(figures["turns"])
        slow = [turn for turn in turns if _number(turn) < self._slow_below]
        others = [turn for turn in turns if _number(turn) >= self._slow_below]
        self.result.groups["others, some slow"] = self.result.share = share(others, 0.0)
        self.result.groups["slow ones, their ASR off"] = share(
            [turn for turn in slow if _number(turn) != BLOCKED], 1000 * SLOW_ASR_S
        )

    async def _hold_restart(self) -> tuple[list[Json], Json]:
        """Kill the server in the middle of conversations and start it again on its port."""
        await self._wait(self._hold / 2, "before the restart")
        befores = await self._begin_generators()
        said = self.server.said
        await self.server.kill()
        killed = time.monotonic()
        await self._start_server(said["port"])
        self.result.seconds["server_back"] = round(time.monotonic() - killed, 3)
        before = await self.server.ask("begin")
        while (await self.server.ask("now"))["connected"] < self._devices:
            if time.monotonic() - killed > 60:
                raise BenchError("not all devices came back within 60 s of the restart")
            await asyncio.sleep(0.05)
        self.result.seconds["all_back"] = round(time.monotonic() - killed, 3)
        await self._wait(self._hold / 2, "after the restart")
        return befores, before

    async def _wait(self, seconds: float, what: str) -> None:
        """Let time pass and show how it goes."""
        began = time.monotonic()
        last: Json | None = None
        while (left := began + seconds - time.monotonic()) > 0:
            await asyncio.sleep(min(_LOOK_S, left))
            point, *devices = await asyncio.gather(
                self.server.ask("now"),
                *(child.peer.ask("now") for child in self._generators),
            )
            self._series.append(point)
            cpu = 0.0
            if last is not None and point["at"] > last["at"]:
                cpu = (point["cpu"] - last["cpu"]) / (point["at"] - last["at"])
            last = point
            connected = sum(device["connected"] for device in devices)
            worst = max(device["lag_p99"] for device in devices)
            self._say(
                f"{self._mix.name}: {what} {time.monotonic() - began:.0f}/{seconds:.0f} s · "
                f"{connected}/{self._devices} devices · {point['turns']} turns · server "
                f"{cpu:.0%} of a core, {point['rss_kb'] // 1024} MB, loop late "
                f"{point['lag_p99']:.0f} ms · generators {worst:.0f} ms"
            )


def _packets(devices: list[Json]) -> int:
    return sum(device["packets"] for device in devices)


def _number(turn: Json) -> int:
    """The device's number, from the end of its address."""
    high, low = turn["device"].split(":")[-2:]
    return int(high, 16) << 8 | int(low, 16)


def _answered(turns: list[Json]) -> list[Json]:
    return [turn for turn in turns if turn["outcome"] == "answered"]
