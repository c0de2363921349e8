"""What must be reached (docs/performance.md), and whether the steps that were run reach it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from vixio_bench.load.figures import QUIET_GROUP, SLOW_GROUP, Result
from vixio_bench.load.services.choice import HTTP, SCRIPTED

QUIET_FACTOR: Final = 1.25
"""Between two halves of one run the p95 of a share varies by so much without any cause."""
QUIET_MS: Final = 5.0
"""And by so much, where it is a few milliseconds."""
WORTH_SAYING: Final = 1.05
"""From this factor on a core was shared with other programs, beyond chance."""
GROWN_MB: Final = 3.0
"""What the allocator alone may add in a long run."""
BY_NAME: Final = "churn"
"""The mix that takes 20 minutes, and is run only when asked for by name."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One mark and what was found. ``ok`` None: the steps that were run do not ask for it."""

    mark: str
    wanted: str
    found: str
    ok: bool | None


@dataclass(frozen=True, slots=True)
class Mark:
    """One line of the table, read from the steps of ``mix`` with at least ``devices``.

    ``figure``: what is measured. Where it is 0, the step has measured nothing, and misses the mark.
    """

    about: str
    wanted: str
    mix: str
    devices: int
    figure: Callable[[Result], float]
    found: Callable[[Result], str]
    reached: Callable[[Result], bool]
    most: int = 100_000
    """A step with more devices says nothing about it."""
    one_core: bool = False
    providers: str = SCRIPTED
    ramp: tuple[float, float] | None = None
    """Least and most seconds within which the devices came."""
    cores: int = 0
    """``devices`` is what so many cores of the reference have to serve: see :func:`part_of`."""

    def least(self, result: Result) -> int:
        """Return how many devices the step must have."""
        if not self.cores:
            return self.devices
        usable = result.usable_cores or self.cores  # 0: not known
        return part_of(self.devices, self.cores, usable, result.slower)

    def fits(self, result: Result) -> bool:
        """Return whether this step counts for the mark."""
        if result.mix != self.mix or not self.least(result) <= result.devices <= self.most:
            return False
        if self.ramp is not None:
            low, high = self.ramp
            if not low <= result.seconds.get("asked_ramp", -1.0) <= high:
                return False
        if self.one_core and result.server_cores != 1:
            return False
        if (self.providers, "websocket") != (result.providers, result.carrier):
            return False
        return result.connected >= self.least(result)


def part_of(devices: int, cores: int, usable: int, slower: float) -> int:
    """Return the part of ``devices``, meant for ``cores`` of the reference, that a machine serves.

    One with fewer ``usable`` cores, each ``slower`` times slower, is as busy with them.
    """
    return max(1, round(devices * min(1.0, usable / cores) / max(1.0, slower)))


def _steady(result: Result) -> bool:
    """However uneven the run was: a rise that its noise could explain is not known to be none."""
    allowed = {"rss_kb": 1024 * GROWN_MB, "tasks": 5, "threads": 2, "descriptors": 5}
    return all(result.growth[name].rise <= most for name, most in allowed.items())


def _last_memory(result: Result) -> float:
    return result.growth["rss_kb"].last if "rss_kb" in result.growth else 0.0


def _unmoved(result: Result) -> bool:
    before = result.groups[QUIET_GROUP].p95
    after = result.groups[SLOW_GROUP].p95
    return after <= max(before * QUIET_FACTOR, before + QUIET_MS) and not result.bad_frames


def _both_groups(result: Result) -> float:
    groups = (QUIET_GROUP, SLOW_GROUP)
    return min(result.groups[name].p95 if name in result.groups else 0.0 for name in groups)


def _share(result: Result) -> str:
    share = result.share
    return f"p50 {share.p50:.1f}, p95 {share.p95:.1f}, p99 {share.p99:.1f} ms"


def _http(
    who: str,
    wanted: str,
    mix: str,
    devices: int,
    reached: Callable[[Result], bool],
    cores: int = 0,
) -> Mark:
    """Return a mark for the share of a turn with real providers, the server on one core."""
    return Mark(
        f"share of a turn over HTTP on one core, {who}",
        wanted,
        mix,
        devices,
        lambda r: r.share.p50,
        lambda r: f"{_share(r)}, {r.late_turns} late",
        reached,
        most=devices,
        one_core=True,
        providers=HTTP,
        cores=cores,
    )


def _seconds(result: Result, name: str) -> float:
    return result.seconds.get(name, 0.0)


def _start(about: str, wanted: str, what: str, most: float, providers: str = SCRIPTED) -> Mark:
    """Return a mark for the seconds from the start to something."""
    return Mark(
        about,
        wanted,
        "start",
        1,
        lambda r: _seconds(r, what),
        lambda r: f"{_seconds(r, what):.2f} s",
        lambda r: _seconds(r, what) <= most * r.slower,
        providers=providers,
    )


MARKS: Final = (
    Mark("listening devices on one core, p95 of capture to decision", "≥ 200 at ≤ 50 ms",
         "listen", 200, lambda r: r.decision_lag.p95,
         lambda r: f"{r.devices} at {r.decision_lag.p95:.1f} ms, {r.server_cpu:.0%} of the core",
         lambda r: r.decision_lag.p95 <= 50 * r.slower and r.decision_lag.max < 1_000,
         one_core=True, cores=1),
    Mark("CPU of a listening device", "≤ 0.004 s/s", "listen", 200, lambda r: r.cpu_per_device,
         lambda r: f"{r.cpu_per_device:.4f} s/s",
         lambda r: r.cpu_per_device <= 0.004 * r.dearer, cores=1),
    Mark("CPU of a single listening device, one core", "≤ 0.008 s/s", "listen", 1,
         lambda r: r.cpu_per_device, lambda r: f"{r.cpu_per_device:.4f} s/s",
         lambda r: r.cpu_per_device <= 0.008 * r.dearer, most=1, one_core=True),
    Mark("memory of a listening device", "≤ 200 KB", "listen", 200,
         lambda r: r.memory_per_device, lambda r: f"{r.memory_per_device:.0f} KB",
         lambda r: r.memory_per_device <= 200, cores=1),
    Mark("the server's share of a turn, one device", "p50 ≤ 15, p99 ≤ 30 ms", "solo", 1,
         lambda r: r.share.p50, _share,
         lambda r: r.share.p50 <= 15 * r.slower and r.share.p99 <= 30 * r.slower, most=1),
    Mark("the same, 50 devices in conversation", "p95 ≤ 40 ms", "talk", 50,
         lambda r: r.share.p95, _share, lambda r: r.share.p95 <= 40 * r.slower, most=399),
    Mark("devices in conversation on four cores, as many processes as vixio serve chooses; fewer "
         "or slower cores their part",
         "≥ 1000 at p95 ≤ 100 ms", "talk", 1_000, lambda r: r.share.p95,
         lambda r: f"{r.devices} at {r.share.p95:.1f} ms on {r.usable_cores} cores; server "
                   f"{r.server_cpu:.2f} in {r.processes} processes, generators "
                   f"{r.generator_cpu:.2f}",
         lambda r: r.share.p95 <= 100 * r.slower and not r.bad_turns, cores=4),
    _http("one device", "p50 ≤ 12 ms", "solo", 1, lambda r: r.share.p50 <= 12 * r.slower),
    _http("50 all in conversation", "p95 ≤ 60 ms, none late", "converse", 50,
          lambda r: r.share.p95 <= 60 * r.slower and not r.late_turns),
    _http("100 all in conversation", "p95 ≤ 150 ms, none late", "converse", 100,
          lambda r: r.share.p95 <= 150 * r.slower and not r.late_turns, cores=1),
    Mark("CPU of a turn over HTTP with an answer of 3 s, beside listening", "≤ 15 ms",
         "converse", 50, lambda r: r.turn_cpu_ms, lambda r: f"{r.turn_cpu_ms:.1f} ms",
         lambda r: r.turn_cpu_ms <= 15 * r.dearer, most=50, providers=HTTP),
    Mark("late frames, underruns, overflows; 200 speaking for 60 s", "0", "speak", 200,
         lambda r: r.counts.get("frames", 0),
         lambda r: f"{r.bad_frames} of {r.counts.get('frames', 0)} in {r.hold:.0f} s, "
                   f"{r.devices} speaking",
         lambda r: r.bad_frames == 0 and r.hold >= 60, cores=2),
    Mark("others' share while 50 have an ASR of 300 ms and one blocks",
         f"p95 at most x{QUIET_FACTOR} or {QUIET_MS:.0f} ms more, 0 late",
         "slow", 100, _both_groups,
         lambda r: f"p95 {r.groups[QUIET_GROUP].p95:.1f} → "
                   f"{r.groups[SLOW_GROUP].p95:.1f} ms, {r.bad_frames} late",
         _unmoved),
    Mark("50 connecting at once, connect → hello", "p50 ≤ 100 ms", "storm", 50,
         lambda r: r.hello.p50, lambda r: f"p50 {r.hello.p50:.0f}, max {r.hello.max:.0f} ms",
         lambda r: r.hello.p50 <= 100 * r.slower, most=100, ramp=(0.0, 0.5)),
    Mark("1000 connecting within 5 s", "all greeted in ≤ 2 s, none refused", "storm", 1_000,
         lambda r: r.hello.max,
         lambda r: f"{r.devices}: max {r.hello.max:.0f} ms, "
                   f"{r.server_counters['ramp.refused']} refused",
         lambda r: r.hello.max <= 2_000 * r.slower and not r.server_counters["ramp.refused"]
         and r.hello.count >= r.devices, ramp=(1.0, 5.0), cores=4),
    Mark("default set, idle: resident memory of the process", "≤ 200 MB", "start", 1,
         lambda r: r.rss,
         lambda r: f"{r.rss / 1024:.0f} MB; beside it its recogniser's processes, "
                   f"{r.counts['children_rss_kb'] / 1024:.0f} MB",
         lambda r: r.rss <= 200 * 1024),
    _start("default set: start → first device greeted", "≤ 1.5 s", "first_device", 1.5),
    _start("default set: start → first answer", "≤ 1 s", "first_answer", 1.0),
    _start("providers over HTTP: start → first answer", "≤ 2 s", "first_answer", 2.0, HTTP),
    Mark("20 minutes of conversations, connects and drops: nothing grows",
         f"≤ {GROWN_MB:.0f} MB, 5 tasks, 2 threads, 5 descriptors",
         "churn", 20, _last_memory,
         lambda r: f"{r.hold / 60:.0f} min: " + ", ".join(
             f"{name} {grown.rise:+.0f}±{grown.scatter:.0f}" for name, grown in r.growth.items()),
         lambda r: _steady(r) and r.hold >= 1_200),
)  # fmt: skip


class Planned(NamedTuple):
    """One step of a series. ``pinned``: the server on one core of its own, if there are several.

    ``processes``: of the server, as ``--workers`` has it. ``cores``: the number of devices is for
    so many cores of the reference; other machines get their part (:func:`part_of`).
    """

    mix: str
    devices: int
    ramp: float | None = None
    pinned: bool = False
    processes: int | Literal["auto"] = 1
    providers: str = SCRIPTED
    cores: int = 0


SERIES: Final = (
    Planned("listen", 200, pinned=True, cores=1),
    Planned("listen", 1, pinned=True),
    Planned("solo", 1),
    Planned("talk", 50),
    Planned("talk", 1_000, processes="auto", cores=4),
    Planned("solo", 1, pinned=True, providers=HTTP),
    Planned("converse", 50, pinned=True, providers=HTTP),
    Planned("converse", 100, pinned=True, providers=HTTP, cores=1),
    Planned("speak", 200, cores=2),
    Planned("slow", 100),
    Planned("storm", 50, 0.0),
    Planned("storm", 1_000, 5.0, cores=4),
    Planned("start", 1),
    Planned("start", 1, providers=HTTP),
)
"""What ``--check`` runs without ``--mix``; ``churn``, 20 minutes, is asked for by name."""


def judge(results: Sequence[Result], *, whole: bool = False) -> list[Verdict]:
    """Hold the results against the marks, in the order of the table.

    ``whole``: all of SERIES was run, so a mark that no step measured is missed.
    """
    verdicts = [
        replace(found, ok=False) if whole and found.ok is None and mark.mix != BY_NAME else found
        for mark in MARKS
        for found in (_verdict(mark, results),)
    ]
    bad = sum(result.bad_turns for result in results if result.mix != "restart")
    asked = sum(result.counts.get("turns", 0) for result in results)
    nothing = False if whole else None
    verdicts.append(
        Verdict(
            "turns lost, late, crossed or not understood",
            "0",
            f"{bad} of {asked}",
            bad == 0 if asked else nothing,
        )
    )
    limited = [f"{result.mix} {result.devices}" for result in results if result.generator_limits]
    if limited:
        verdicts.append(
            Verdict("generators kept up", "always", f"not in {', '.join(limited)}", False)
        )
    return verdicts


def all_reached(found: Sequence[Verdict]) -> bool:
    """Whether no mark was missed, and one was reached: with nothing measured nothing is."""
    return any(verdict.ok for verdict in found) and all(
        verdict.ok is not False for verdict in found
    )


def _found(mark: Mark, result: Result) -> str:
    """Return what was found, and on what a core: by this limits are wider than the table's."""
    shared = f", shared x{result.shared:.2f}" if result.shared >= WORTH_SAYING else ""
    devices = f"{result.devices} devices, " if mark.least(result) != mark.devices else ""
    what = mark.found(result) if mark.figure(result) > 0 else "no figure"
    return f"{what} ({devices}core x{result.slowness:.2f}{shared})"


def _verdict(mark: Mark, results: Sequence[Result]) -> Verdict:
    """Repeats of the step that the mark is about decide by their majority.

    Where there is none, a step with more devices can reach the mark, but not miss it.
    """
    fitting = [result for result in results if mark.fits(result)]
    exact = [
        result for result in fitting if result.devices == mark.least(result) or mark.mix == BY_NAME
    ]
    if exact:
        return _majority(mark, exact)
    for devices in sorted({result.devices for result in fitting}):
        found = _majority(mark, [result for result in fitting if result.devices == devices])
        if found.ok:
            return found
    return Verdict(mark.about, mark.wanted, "not measured", None)


def _majority(mark: Mark, repeats: Sequence[Result]) -> Verdict:
    """Return what more than half of the repeats of a step say, with one of these."""
    good = [mark.figure(result) > 0 and mark.reached(result) for result in repeats]
    ok = 2 * sum(good) > len(good)
    one = repeats[good.index(ok)]
    said = f"; {sum(good)} of {len(good)} repeats reach it" if len(good) > 1 else ""
    return Verdict(mark.about, mark.wanted, _found(mark, one) + said, ok)
