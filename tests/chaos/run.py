"""A whole run: quiet, then attack by attack, each judged by what the healthy devices felt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.field import Field, Scenario, open_field
from tests.chaos.healthy import Felt
from tests.chaos.outcome import Outcome
from tests.chaos.scenarios import scenarios

SLOWER_MS = 300.0
"""A healthy device's answer may come later by this much than in the quiet; frames are 60 ms. What
the machine kept server and harness from running is taken off both."""

LAG_MS = 300.0
"""The server's event loop may run this much late by its own doing: what a device has been sent
ahead of its loudspeaker. Of one attack; thirty at a time are no measure of that."""

SIDE_BY_SIDE = (
    {"protocol", "clients", "tools", "providers", "sources", "process"},
    {"floods"},
    {"descriptors"},
)
"""The groups whose attacks the short form makes at the same time; others it leaves out."""

APART_S = 0.15
"""Between the beginnings of attacks that are made at the same time."""

SETTLE_S = 12.0
"""Within this time after an attack nothing of it may be left: hellos expire, sends time out."""

ALLOWED = {"threads": 8, "vad_windows": 32}
"""What may be more than before: the loop's own pool has up to twelve threads, and the microphones
of the healthy devices go on between their turns."""

LATE_SHARE = 0.002
"""Of the frames of healthy devices: one in a turn that was hard to tell is no harm."""

RSS_KB = 48 * 1024
"""Noise of the memory: what the allocator keeps for the next time. For one attack, and for all."""


@dataclass(slots=True)
class Row:
    """One attack and all that is known of it."""

    group: str
    name: str
    outcome: Outcome
    felt: Felt
    server_lag_ms: float
    problems: list[str] = field(default_factory=list)
    grew: dict[str, int] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether only attacked devices were affected."""
        return not self.problems


@dataclass(slots=True)
class Report:
    """The rows, the quiet beside them, and what had grown at the end."""

    quiet: Felt
    rows: list[Row] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    before: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    after: dict[str, int] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether all checks passed."""
        return not self.problems and all(row.passed for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"passed": self.passed, **asdict(self)}


Progress = Callable[[str], None]


async def run(
    log: Path,
    *,
    long: bool,
    devices: int = 8,
    seed: int = 1,
    only: str = "",
    progress: Progress = lambda _: None,
) -> Report:
    """Attack a server of its own; ``only``: attacks whose name or group contains this."""
    wanted = [one for one in scenarios(seed) if only in one.name or only in one.group]
    async with open_field(log, devices=devices, long=long, seed=seed) as battle:
        loop = asyncio.get_running_loop()
        progress("quiet")
        await battle.server.call("loaded")
        began = loop.time()
        if long:
            await _turns(battle, began, devices * 5)
        await battle.healthy.pause()
        report = Report(battle.healthy.felt(began, loop.time()))
        report.before = report.last = await battle.gauges(collect=True)
        await battle.server.call("lag")
        await battle.new_log_lines()
        battle.healthy.resume()
        for phase in _phases(wanted, long=long):
            progress(", ".join(one.name for one in phase))
            report.rows += await _attack(battle, phase, report)
        await battle.healthy.pause()
        report.after = await _settled(battle, report.before)
        report.problems = [f"in the quiet: {wrong}" for wrong in report.quiet.wrong]
        report.problems += _grown(report.before, report.after)
        report.counters = await battle.server.call("counters")
        for name in ("session.defect", "xiaozhi.closed.handler_failed"):
            if report.counters.get(name):
                report.problems.append(f"{name}: {report.counters[name]}")
    return report


def _phases(wanted: Sequence[Scenario], *, long: bool) -> list[list[Scenario]]:
    if long:
        return [[one] for one in wanted]
    phases = [
        # Those that take longest begin first: all have ended by the time that these take.
        sorted((one for one in wanted if one.group in groups), key=lambda one: not one.lasting)
        for groups in SIDE_BY_SIDE
    ]
    return [phase for phase in phases if phase]


async def _attack(battle: Field, phase: Sequence[Scenario], report: Report) -> list[Row]:
    loop = asyncio.get_running_loop()
    began = loop.time()
    outcomes = await asyncio.gather(
        *(_judged(one, battle, wait=number * APART_S) for number, one in enumerate(phase))
    )
    await _turns(battle, began, battle.times(12, 4))
    before, after = report.last, report.last
    if battle.long:
        await battle.healthy.pause()
    felt = battle.healthy.felt(began, loop.time())
    lag = await battle.server.call("lag")
    if battle.long:
        report.last = after = await _settled(battle, before)
        await battle.server.call("lag")  # looking at everything takes a moment
        battle.healthy.resume()
    problems = _harm(felt)
    if battle.long:
        problems += _lateness(felt, report.quiet)
        if lag > LAG_MS:
            problems.append(f"the server's loop ran {lag:.0f} ms late by itself")
    problems += _log_problems(await battle.new_log_lines())
    problems += _grown(before, after)
    rows = [
        Row(one.group, one.name, outcome, felt, lag, list(outcome.problems))
        for one, outcome in zip(phase, outcomes, strict=True)
    ]
    for row in rows:  # of attacks that ran together, the cause is unknown
        row.problems += problems
        row.grew = {name: after[name] - before[name] for name in after}
    return rows


async def _judged(scenario: Scenario, battle: Field, wait: float) -> Outcome:
    loop = asyncio.get_running_loop()
    await asyncio.sleep(wait)
    began = loop.time()
    try:
        outcome = await scenario.run(battle)
    except Exception as error:  # noqa: BLE001  an attack that cannot be made is a failed one
        outcome = Outcome(problems=[f"{type(error).__name__}: {error}"[:300]])
    outcome.seconds = round(loop.time() - began, 1)
    return outcome


async def _turns(battle: Field, since: float, count: int) -> None:
    """Wait until ``count`` turns have been had since; bounded, for lost turns end too."""
    async with asyncio.timeout(240):
        await battle.healthy.wait_for_turns(since, count)


async def _settled(battle: Field, before: dict[str, int]) -> dict[str, int]:
    """Return the gauges as soon as nothing is left of the attack, or as they are at last."""
    loop = asyncio.get_running_loop()
    end = loop.time() + SETTLE_S
    while True:
        gauges = await battle.gauges(collect=True)
        if not _grown(before, gauges) or loop.time() > end:
            return gauges
        await asyncio.sleep(0.2)


def _grown(before: dict[str, int], after: dict[str, int]) -> list[str]:
    return [
        f"{name} grew from {before[name]} to {value}"
        for name, value in after.items()
        if value > before[name] + (RSS_KB if name == "rss_kb" else ALLOWED.get(name, 0))
    ]


def _harm(felt: Felt) -> list[str]:
    """Return what must not happen on any machine, however slow."""
    problems = [f"a healthy turn was lost: {wrong}" for wrong in felt.wrong]
    if not felt.turns:
        problems.append("no healthy device had a turn")
    if felt.crossed:
        problems.append(f"{felt.crossed} healthy turns were crossed")
    return problems


def _lateness(felt: Felt, quiet: Felt) -> list[str]:
    """Return the delays of healthy devices that one attack at a time must not cause.

    For the long form. The short form makes thirty attacks at a time beside other tests, so its
    times are not judged.
    """
    if felt.turns and felt.excused == felt.turns:
        return ["no turn could be judged for lateness: the machine was too busy"]
    problems: list[str] = []
    if felt.own_late > LATE_SHARE * felt.own_frames:
        problems.append(f"{felt.own_late} frames of healthy devices came late")
    calm_ms = quiet.own_p95_ms or quiet.p95_ms  # no turn could be judged, at worst
    if felt.own_p95_ms > calm_ms + SLOWER_MS:
        problems.append(f"healthy p95 {felt.own_p95_ms} ms, {calm_ms} ms in the quiet")
    return problems


def _log_problems(lines: Sequence[str]) -> list[str]:
    errors = {
        line[24:160]
        for line in lines
        if "Traceback" in line or " ERROR " in line[:40] or " CRITICAL " in line[:40]
    }
    return [f"in the log: {line}" for line in sorted(errors)[:5]]
