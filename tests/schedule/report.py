"""What the schedule says: a line for each job, what failed in full, and the table at the end."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.schedule.jobs import Job, Outcome
from tests.schedule.targets import Target
from tests.schedule.times import Time

SHOWN = 600
"""Lines of the output of a job that failed."""
SLOWEST = 10
LATE = 1.25
"""Times the budget: what takes longer is named. The core's speed is known to about a fifth."""

CLOSING = re.compile(r"^=* ?((?:\d+ [a-z]+,? ?)+) in [0-9.]+s\b.*$")
COUNT = re.compile(r"(\d+) (passed|failed|skipped|errors?|deselected|xfailed|xpassed|warnings?)")
FAILURE = re.compile(r"^(FAILED|ERROR) |^[^ ]+: error: ")
WHERE = re.compile(r"^(tests|firmware-test-client|bench|vixio)/\S+\.py:\d+: ")
WHERES = 3
"""Of a test that failed: the places in its traceback that are named again at the end."""
WHY = re.compile(r"^E   ")
WHYS = 24
"""Likewise the lines of its error."""


def say(line: str = "") -> None:
    """Print a line at once: the output may be a file that somebody follows."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def closing_line(output: Path) -> str:
    """Return pytest's last line, or that of another program."""
    lines = [line for line in _lines(output) if line.strip()]
    for line in reversed(lines):
        if CLOSING.match(line):
            return line.strip("= ")
    return lines[-1] if lines else "no output"


def counts(outcomes: Sequence[Outcome]) -> Counter[str]:
    """Count the tests by how they ended."""
    found: Counter[str] = Counter()
    for outcome in outcomes:
        for number, word in COUNT.findall(closing_line(outcome.output)):
            found[re.sub("s$", "", word) if word in ("errors", "warnings") else word] += int(number)
    return found


def started(job: Job) -> None:
    """Say that a job starts."""
    say(f"start {job.name}")


def ended(outcome: Outcome) -> None:
    """Say how a job ended, with its output if it failed."""
    verdict = "ok   " if outcome.status == 0 else "FAILED"
    took = f"{outcome.wall_s:.0f} s, {outcome.cpu_s:.0f} s of processor"
    say(f"{verdict} {outcome.job.name}: {took}: {closing_line(outcome.output)}")
    if outcome.status != 0:
        say(f"---- {outcome.job.name}, status {outcome.status}")
        told = [line for line in _lines(outcome.output) if not line.startswith("SKIPPED ")]
        for line in told[-SHOWN:]:
            say(line)
        say(f"---- end of {outcome.job.name}")


def table(
    targets: Sequence[Target], outcomes: Sequence[Outcome], wall_s: float, cores: int
) -> list[str]:
    """Return the table of targets, and a line for each budget that was exceeded."""
    slowness, shared = _core()
    rows = [f"{'target':<10}{'wall s':>8}{'cpu s':>8}{'budget':>8}  tests"]
    warnings = []
    for target in targets:
        own = [each for each in outcomes if each.job.name.startswith(f"{target.name}/")]
        if not own:
            continue
        wall = max(each.began_s + each.wall_s for each in own) - min(each.began_s for each in own)
        cpu = sum(each.cpu_s for each in own)
        rows.append(
            f"{target.name:<10}{wall:>8.0f}{cpu:>8.0f}{target.cpu_s:>8.0f}  {words(counts(own))}"
        )
        if cpu > target.cpu_s * max(1.0, slowness) * LATE:
            warnings.append(
                f"warning: {target.name} took {cpu:.0f} s of processor; its budget is"
                f" {target.cpu_s:.0f} s on the reference machine, and a core here takes"
                f" x{slowness:.2f} as long"
            )
    setup = [each for each in outcomes if each.job.lane]
    if setup:
        took, cpu = sum(each.wall_s for each in setup), sum(each.cpu_s for each in setup)
        rows.append(f"{'set-up':<10}{took:>8.0f}{cpu:>8.0f}")
    cpu = sum(each.cpu_s for each in outcomes)
    rows.append(
        f"{'all':<10}{wall_s:>8.0f}{cpu:>8.0f}{sum(each.cpu_s for each in targets):>8.0f}"
        f"  {cores} cores, core x{slowness:.2f}, shared x{shared:.2f}"
    )
    return rows + warnings


def slowest(times: Mapping[str, Time]) -> list[str]:
    """Return the files that took most processor time."""
    first = sorted(times, key=lambda name: -times[name].cpu)[:SLOWEST]
    return [f"{times[name].cpu:>8.0f} s of processor  {name}" for name in first]


def failures(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the lines that name what failed, and where: often these alone are kept of a run."""
    found = []
    for outcome in outcomes:
        if outcome.status != 0:
            lines = _lines(outcome.output)
            named = [line for line in lines if FAILURE.match(line)]
            for kept, many in ((WHY, WHYS), (WHERE, WHERES)):
                found += [line for line in lines if kept.match(line)][-many * len(named) :]
            found += named or [f"FAILED {outcome.job.name}: status {outcome.status}"]
    return found


def words(found: Counter[str]) -> str:
    """Return counts as pytest has them."""
    order = ("failed", "passed", "skipped", "deselected", "xfailed", "xpassed", "warning", "error")
    return ", ".join(f"{found[word]} {word}" for word in order if found[word])


def verdict(outcomes: Sequence[Outcome], wall_s: float) -> str:
    """Return one closing line for all, in pytest's form."""
    return f"===== {words(counts(outcomes)) or 'no tests ran'} in {wall_s:.2f}s ====="


def _lines(output: Path) -> list[str]:
    return output.read_text(encoding="utf-8", errors="replace").splitlines()


def _core() -> tuple[float, float]:
    from vixio.composition.core_speed import core_speed

    found = core_speed()
    return found.slowness, found.shared
