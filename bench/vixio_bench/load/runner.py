"""Runs one step: a fresh server, fresh generators, ramp, hold, figures."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from vixio_bench.load.bus import BusLook, BusRate
from vixio_bench.load.calibration import calibrate
from vixio_bench.load.cluster_figures import BusFigures
from vixio_bench.load.control import Hub, Json
from vixio_bench.load.disturbances import BLOCK_S, KilledNode, SlowProviders, hold_restart
from vixio_bench.load.figures import (
    Result,
    growth,
    put_generators,
    put_server,
    put_services,
    put_turn_cost,
)
from vixio_bench.load.mixes import Mix
from vixio_bench.load.options import Options, Say
from vixio_bench.load.running import Running, packets
from vixio_bench.load.server_group import ServerGroup
from vixio_bench.load.usage import Spread, children_kb, machine_busy

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
TURNS_S = 120.0
CHURN_SETTLE = 0.25
"""Of a long run's time: until caches, pools and histories are full."""

MEASURING: Final = "measuring"


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
        self._run = Running(hub, mix, devices, options, say)
        self._mix = mix
        self._devices = devices
        self._options = options
        self._ramp = ramp if ramp is not None else mix.ramp
        self._packet_cpu = 0.0
        """Seconds that a packet of the microphone costs while all only listen."""
        self._bus_look: BusLook | None = None
        self.result = self._run.result

    async def run(self) -> Result:
        """Return the figures. Raises BenchError."""
        cores = self.result.usable_cores
        speed = self._options.speed or await calibrate(cores)
        self.result.slowness, self.result.shared = speed.slowness, speed.shared
        try:
            await self._run.start()
            await self._idle()
            await self._come()
            await self._begin_turns()
            await self._measure()
            return self.result
        finally:
            await self._run.end()

    @property
    def _server(self) -> ServerGroup:
        return self._run.server

    # ── the parts of a step ─────────────────────────────────────────────────────────────────────

    async def _idle(self) -> None:
        if self._mix.default_set:
            return  # the first device is to come as early as it can
        few = self._devices < FEW_DEVICES
        seconds = self._options.idle or (min(IDLE_FOR_FEW_S, self._run.hold / 2) if few else IDLE_S)
        # What it loads behind its open ports is no part of what it does while idle. Nodes that load
        # beside each other take longer.
        settle = min(SETTLE_S, seconds) if few else SETTLE_S
        await self._run.wait(settle + self._options.nodes, "settles")
        await self._look_at_bus()
        before = await self._server.ask("now")
        await self._run.wait(seconds, "is idle")
        after = await self._server.ask("now")
        await self._look_at_bus("idle")
        self.result.idle_rss = after["rss_kb"]
        self._run.idle_cpu = (after["cpu"] - before["cpu"]) / (after["at"] - before["at"])

    async def _come(self) -> None:
        """Have all devices connect."""
        run = self._run
        step = len(run.generators)
        ramp = self._ramp if self._ramp is not None else max(1.0, self._devices / 40)
        run.say(f"{self._mix.name}: preparing {self._devices} devices")
        await asyncio.gather(
            *(
                child.peer.ask(
                    "prepare",
                    timeout=300,
                    urls=self._server.urls,
                    first=index,
                    step=step,
                    total=self._devices,
                    behaviour=self._mix.behaviour,
                    pause=self._mix.pause,
                    blocks=BLOCK_S if self._mix.slow else 0.0,
                    asks=self._mix.asks,
                )
                for index, child in enumerate(run.generators)
            )
        )
        run.say(f"{self._mix.name}: {self._devices} devices connect within {ramp:g} s")
        await self._look_at_bus()
        began = time.monotonic()
        answers = await run.of_generators("ramp", timeout=ramp + 120, seconds=ramp)
        self.result.seconds["asked_ramp"] = ramp
        self.result.seconds["ramp"] = round(time.monotonic() - began, 3)
        await self._look_at_bus("connecting")
        self.result.hello = Spread.of(ms for answer in answers for ms in answer["hello_ms"])
        refused = sum(answer["counts"].get("refused", 0) for answer in answers)
        self.result.server_counters["ramp.refused"] = refused
        if self._mix.default_set:
            self.result.seconds["first_device"] = self._since_start(time.monotonic())
            await self._server.ask("loaded", timeout=120)
            self.result.seconds["loaded"] = self._since_start(time.monotonic())
        if self._mix.asks:
            await self._first_answers()
        if self._mix.hold > 3:
            await run.wait(SETTLE_S, "settles")

    async def _first_answers(self) -> None:
        """Note when the first device's question was answered, counted from the server's start."""
        answers = await self._run.of_generators("answers", timeout=120)
        first = min(at for answer in answers for at in answer["at"])
        self.result.seconds["first_answer"] = self._since_start(first)
        if notices := sum(answer["notices"] for answer in answers):
            self.result.trouble.append(f"{notices} notices of loading before the first answer")

    def _since_start(self, at: float) -> float:
        return round(at - self._server.started, 3)

    async def _begin_turns(self) -> None:
        """Have the devices speak; find out first what it costs to listen to them."""
        run = self._run
        if self._mix.quiet:
            await self._look_at_bus()
            devices, before = await run.of_generators("now"), await self._server.ask("now")
            await run.wait(self._mix.quiet, "only listens")
            devices_after, after = await run.of_generators("now"), await self._server.ask("now")
            await self._look_at_bus("listening")
            heard = packets(devices_after) - packets(devices)
            used = after["cpu"] - before["cpu"] - run.idle_cpu * (after["at"] - before["at"])
            self._packet_cpu = max(0.0, used / max(1, heard))
        await run.of_generators("talk")
        if self._mix.quiet:
            await run.wait(ALL_TALK_S, "settles")

    async def _measure(self) -> None:
        run, services = self._run, self._run.services
        befores = await run.of_generators("begin")
        services_before = await services.peer.ask("begin") if services else {}
        before = await self._server.ask("begin")
        began, busy_before = time.monotonic(), machine_busy()
        await self._look_at_bus()
        slow = SlowProviders(run) if self._mix.slow else None
        killed = KilledNode(run) if self._options.kill else None
        if slow is not None:
            before = await slow.hold()
        elif killed is not None:
            befores, before = await killed.hold()
        elif self._mix.restart:
            befores, before = await hold_restart(run)
        else:
            await run.wait(run.hold, "holds")
        await self._wait_for_turns(before["turns"] + self._options.turns)
        await self._look_at_bus(MEASURING)
        elapsed, busy = time.monotonic() - began, machine_busy() - busy_before
        figures = await self._server.ask("figures")
        generators = [await child.peer.ask("figures") for child in run.generators]
        result, delays = self.result, self._options.delays
        delays_ms = 1000 * (delays.asr + delays.agent + delays.tts)
        refused = result.server_counters
        put_server(result, before, figures, delays_ms)
        result.server_counters.update(refused)
        put_generators(result, befores, generators)
        if services is not None:
            put_services(result, services_before, await services.peer.ask("figures"))
        self._put_costs(befores, before, figures, generators)
        ours = result.server_cpu + result.generator_cpu + result.services_cpu + self._bus_cpu
        result.others = round(max(0.0, busy / elapsed - ours), 2)
        if slow is not None:
            slow.judge(figures)
        if killed is not None:
            killed.judge(figures, generators, delays_ms)
        if self._mix.behaviour == "churn":
            result.growth = growth(run.series, CHURN_SETTLE)
        if self._mix.default_set:
            result.idle_rss = result.rss
            result.memory_per_device = 0.0  # indistinguishable from the memory of its own start
            result.counts["children_rss_kb"] = sum(map(children_kb, self._server.pids))
        await run.of_generators("leave")

    def _put_costs(
        self, befores: list[Json], before: Json, figures: Json, generators: list[Json]
    ) -> None:
        """Take what a turn and a device cost."""
        result, idle_cpu = self.result, self._run.idle_cpu
        if self._packet_cpu:
            heard = packets([each["now"] for each in generators]) - packets(befores)
            used = figures["now"]["cpu"] - before["cpu"] - idle_cpu * result.hold
            put_turn_cost(result, used - heard * self._packet_cpu, self._packet_cpu)
        there = max(1, result.connected)
        result.cpu_per_device = round((result.server_cpu - idle_cpu) / there, 6)
        result.memory_per_device = round((result.rss - result.idle_rss) / there, 1)

    async def _wait_for_turns(self, turns: int) -> None:
        """Go on until ``turns`` have ended, for a test on a machine of any speed."""
        end = time.monotonic() + TURNS_S
        while time.monotonic() < end:
            now = await self._server.ask("now")
            if now["turns"] >= turns:
                return
            await asyncio.sleep(_LOOK_S)

    async def _look_at_bus(self, phase: str = "") -> None:
        """Look at the bus, if there is one; ``phase`` has lasted since the last look."""
        if self._run.bus is None:
            return
        look, last = await self._run.bus.look(), self._bus_look
        bus = self.result.bus = self.result.bus or BusFigures(idle_rss=look.rss_kb)
        bus.rss, self._bus_look = look.rss_kb, look
        if phase and last is not None:
            bus.phases[phase] = BusRate.between(last, look)

    @property
    def _bus_cpu(self) -> float:
        bus = self.result.bus
        return bus.phases[MEASURING].cpu if bus is not None else 0.0
