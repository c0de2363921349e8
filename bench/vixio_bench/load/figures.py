"""The figures of one step, computed from the reports of server and generators."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from vixio_bench.load.cluster_figures import BusFigures, Killed
from vixio_bench.load.control import Json
from vixio_bench.load.probe import STAGES
from vixio_bench.load.usage import Spread

GENERATOR_LAG_MS: Final = 15.0
"""A generator whose loop is so late at the 99th percentile is itself what is measured; on a slow
core by so much more."""
GENERATOR_CPU: Final = 0.85
"""So much of its core and it has no room for a burst."""

PACKET_S: Final = 0.06
"""Length of the packets that the devices send."""

QUIET_GROUP: Final = "others, all quick"
SLOW_GROUP: Final = "others, some slow"
"""Devices of the mix ``slow`` with quick providers, before and while those of others are slow."""

NONE: Final = Spread(0, 0.0, 0.0, 0.0, 0.0)


@dataclass(slots=True)
class Growth:
    """How something grew over a long run: the fitted line's rise, and the scatter around it."""

    rise: float
    scatter: float
    last: float

    @classmethod
    def of(cls, times: Sequence[float], values: Sequence[float]) -> Growth:
        """Fit a line; ``rise`` is over the whole time."""
        if len(times) < 3 or times[-1] <= times[0]:
            return cls(0.0, 0.0, values[-1] if values else 0.0)
        slope, start = statistics.linear_regression(times, values)
        scatter = statistics.pstdev(
            value - (start + slope * at) for at, value in zip(times, values, strict=True)
        )
        return cls(slope * (times[-1] - times[0]), scatter, values[-1])


@dataclass(slots=True)
class Result:
    """One step. Times in milliseconds, memory in KB, processor shares in cores."""

    mix: str
    devices: int
    connected: int = 0
    """At the end; fewer where the server refused some."""
    hold: float = 0.0
    server_cores: int = 0
    """0: not pinned."""
    processes: int = 1
    """Of the server."""
    generators: int = 0
    turns: int = 0
    turns_per_s: float = 0.0
    share: Spread = NONE
    """The server's own part of a turn: end of turn decided → first frame sent, less the delays
    that the scripted providers were given, and less ``held``."""
    held: Spread = NONE
    """For how long the first frame, ready to be sent, waited until the device could play it
    (``output.start_lead_ms``)."""
    stages: dict[str, Spread] = field(default_factory=dict)
    response: Spread = NONE
    """At the device: end of the last word → first audio."""
    hello: Spread = NONE
    providers: str = "scripted"
    carrier: str = "websocket"
    usable_cores: int = 0
    """Of the machine, for server, generators and stand-ins together."""
    slowness: float = 1.0
    """How many times as long this core takes as that of docs/performance.md
    (:mod:`vixio_bench.load.calibration`); below 1 it is faster."""
    shared: float = 1.0
    """And how many times as long again because other programs used it before the step; 1: none."""
    listening_cpu: float = 0.0
    """Seconds a second that one device costs while it only listens; 0: not measured."""
    turn_cpu_ms: float = 0.0
    """Processor time of a turn, beside what listening costs; 0: not measured."""
    work: dict[str, float] = field(default_factory=dict)
    """Processor time by part (:mod:`vixio_bench.load.work`): ms a turn, listening included; in
    mixes without turns ms in each second of a device."""
    answered: Spread = NONE
    """The stand-ins' own time for an answer."""
    services_cpu: float = 0.0
    server_cpu: float = 0.0
    cpu_by_thread: dict[str, float] = field(default_factory=dict)
    """The same by thread, those of a hundredth of a core and more."""
    cpu_per_device: float = 0.0
    """Seconds a second, the idle server's own taken off."""
    memory_per_device: float = 0.0
    rss: int = 0
    idle_rss: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    jitter_p95: float = 0.0
    loop_lag: Spread = NONE
    decision_lag: Spread = NONE
    generator_cpu: float = 0.0
    """Of all generators."""
    generator_busiest: float = 0.0
    generator_lag: float = 0.0
    """The 99th percentile of the worst generator."""
    generator_limits: list[str] = field(default_factory=list)
    """Why the figures are not the server's; empty when they are."""
    others: float = 0.0
    """Cores that other work on the machine took meanwhile."""
    groups: dict[str, Spread] = field(default_factory=dict)
    """The share of groups of devices, where a mix has them."""
    growth: dict[str, Growth] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    """Single durations, such as the start."""
    server_counters: dict[str, int] = field(default_factory=dict)
    trouble: list[str] = field(default_factory=list)
    nodes: int = 0
    """Of a cluster, at the beginning; 0: none."""
    bus: BusFigures | None = None
    """Of the NATS server that joins the nodes."""
    killed: Killed | None = None
    """Where a node was killed: all figures but these are of the time after it."""

    @property
    def slower(self) -> float:
        """The factor of all marks that are times: a slow machine gets more, a fast one no less."""
        return max(1.0, self.slowness * self.shared)

    @property
    def dearer(self) -> float:
        """That of processor times, in which waiting for a core is not contained."""
        return max(1.0, self.slowness)

    @property
    def bad_frames(self) -> int:
        """Late frames, underruns and overflows at the devices."""
        return sum(self.counts.get(name, 0) for name in ("late_frames", "underruns", "overflows"))

    @property
    def late_turns(self) -> int:
        """Turns whose answer was late, or never came."""
        return sum(self.counts.get(name, 0) for name in ("late_turns", "lost"))

    @property
    def bad_turns(self) -> int:
        """Turns that were lost, late, answered to another, or not understood."""
        names = ("lost", "late_turns", "crossed", "unheard", "not_listening")
        return sum(self.counts.get(name, 0) for name in names)


def put_server(result: Result, before: Json, figures: Json, delays_ms: float) -> None:
    """Take the server's report; ``before`` is its answer to "begin"."""
    after = figures["now"]
    turns = [turn for turn in figures["turns"] if turn["outcome"] == "answered"]
    elapsed = after["at"] - before["at"]
    result.hold = round(elapsed, 1)
    result.turns = figures["answered"]
    result.turns_per_s = round(result.turns / elapsed, 2)
    result.share = share(turns, delays_ms)
    result.held = Spread.of(turn["held"] for turn in turns if turn["held"] is not None)
    for index, stage in enumerate(STAGES):
        values = [turn["stages"][index] for turn in turns if turn["stages"][index] is not None]
        result.stages[stage] = Spread.of(values)
    result.server_cpu = round((after["cpu"] - before["cpu"]) / elapsed, 4)
    result.cpu_by_thread = {
        name: round(seconds / elapsed, 3)
        for name, seconds in sorted(figures["cpu_by_thread"].items())
        if seconds / elapsed >= 0.01
    }
    per = result.turns or elapsed * max(1, after["connected"])
    result.work = {
        part: round(1000 * seconds / per, 3) for part, seconds in figures["work"].items()
    }
    result.rss = after["rss_kb"]
    result.loop_lag = Spread(**figures["loop_lag_ms"])
    result.decision_lag = Spread(**figures["decision_lag_ms"])
    result.server_counters = figures["counters"]


def share(turns: Iterable[Json], delays_ms: float) -> Spread:
    """Return the server's own part of these turns."""
    return Spread.of(turn["share"] - delays_ms for turn in turns if turn["share"] is not None)


def put_generators(result: Result, befores: list[Json], figures: list[Json]) -> None:
    """Take the generators' reports, and check whether they kept up."""
    counts: Counter[str] = Counter()
    responses: list[float] = []
    jitters: list[float] = []
    hellos: list[float] = []
    result.connected = sum(figure["now"]["connected"] for figure in figures)
    for before, figure in zip(befores, figures, strict=True):
        counts.update(figure["counts"])
        responses += figure["response_ms"]
        jitters += figure["jitter_ms"]
        hellos += figure["hello_ms"]
        result.trouble += figure["trouble"]
        cpu = (figure["now"]["cpu"] - before["cpu"]) / (figure["now"]["at"] - before["at"])
        result.generator_cpu += cpu
        result.generator_busiest = max(result.generator_busiest, cpu)
        result.generator_lag = max(result.generator_lag, figure["loop_lag_ms"]["p99"])
    result.counts = dict(sorted(counts.items()))
    result.response = Spread.of(responses)
    result.jitter_p95 = Spread.of(jitters).p95
    if hellos:
        result.hello = Spread.of(hellos)
    result.generator_cpu = round(result.generator_cpu, 3)
    result.generator_busiest = round(result.generator_busiest, 3)
    if result.generator_lag > GENERATOR_LAG_MS * result.slower:
        result.generator_limits.append(
            f"a generator's loop ran {result.generator_lag:.0f} ms late (p99)"
        )
    if result.generator_busiest > GENERATOR_CPU:
        result.generator_limits.append(
            f"a generator used {result.generator_busiest:.0%} of its core"
        )


def put_services(result: Result, before: Json, figures: Json) -> None:
    """Take the stand-ins' report, and check whether they kept up."""
    now = figures["now"]
    result.answered = Spread(**figures["answered_ms"])
    result.services_cpu = round((now["cpu"] - before["cpu"]) / (now["at"] - before["at"]), 3)
    lag = figures["loop_lag_ms"]["p99"]
    if lag > GENERATOR_LAG_MS * result.slower:
        result.generator_limits.append(f"the stand-ins' loop ran {lag:.0f} ms late (p99)")
    if result.services_cpu > GENERATOR_CPU:
        result.generator_limits.append(f"the stand-ins used {result.services_cpu:.0%} of a core")


def put_turn_cost(result: Result, seconds: float, packet_seconds: float) -> None:
    """Take the processor time of the turns, without listening, and that of a packet heard."""
    result.listening_cpu = round(packet_seconds / PACKET_S, 6)
    if result.turns:
        result.turn_cpu_ms = round(1000 * max(0.0, seconds) / result.turns, 2)


def growth(series: list[Json], settle: float) -> dict[str, Growth]:
    """Return what grew in a long run; its first part (``settle``, 0…1) is left out."""
    kept: list[dict[str, Any]] = series[int(len(series) * settle) :]
    times = [float(point["at"]) for point in kept]
    return {
        name: Growth.of(times, [float(point[name]) for point in kept])
        for name in ("rss_kb", "tasks", "threads", "descriptors")
    }
