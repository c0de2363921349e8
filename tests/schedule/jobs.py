"""Runs commands side by side, so that the cores are busy and not overrun.

A job says how many cores it keeps busy. Jobs start in their order as long as the cores bear them,
so a conversation, which mostly waits, runs beside a compiler. What they say is an estimate, since
beside others a job takes longer: where a core is seen to idle, one more starts.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue

from tests.support import warm

GRACE_S = 10.0
"""Between SIGTERM and SIGKILL for a job that is ended."""
LOOK_S = 3.0
"""So often the idle cores are looked at. What has just started is given twice that to begin."""
ROOM = 0.3
"""Cores that must idle between two looks for one more job to start."""
MOST = 6
"""Jobs for each core. Each has its memory."""


@dataclass(frozen=True)
class Job:
    """One command.

    ``load``: the cores that it keeps busy. ``after``: names of jobs that must have passed before.
    ``lane``: of the jobs with the same lane, one runs at a time. ``alone``: nothing runs beside it.
    ``warm``: whether the warm parent may start it (tests/support/warm.py).
    ``limit_s``: after so many seconds it is ended, and has failed.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    load: float = 1.0
    after: frozenset[str] = frozenset()
    lane: str = ""
    alone: bool = False
    warm: bool = False
    limit_s: float = 3_600.0


@dataclass(frozen=True)
class Outcome:
    """How a job ended. ``cpu_s``: user and system time, of its children too that it waited for."""

    job: Job
    status: int
    began_s: float
    """Seconds since the start of the first job."""
    wall_s: float
    cpu_s: float
    output: Path


class _Running:
    """A job that runs; a thread of its own waits for its end, which goes to ``ends``."""

    def __init__(self, job: Job, folder: Path, began: float, ends: SimpleQueue[Outcome]) -> None:
        self.job = job
        self._output = folder / f"{job.name.replace('/', '-')}.log"
        self._began = began
        self._began_s = time.monotonic() - began
        self._over = threading.Event()
        with self._output.open("wb") as file:
            # A group of its own, so that what it has started can be ended with it.
            self._process = (warm.start if job.warm else subprocess.Popen)(
                job.command,
                cwd=Path.cwd(),
                env=dict(job.environment),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        threading.Thread(target=self._wait, args=[ends]).start()
        threading.Thread(target=self._limit, daemon=True).start()

    def end(self) -> None:
        """End it and what it has started."""
        self._signal(signal.SIGTERM)
        if not self._over.wait(GRACE_S):
            self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            pass  # it has ended

    def _limit(self) -> None:
        if not self._over.wait(self.job.limit_s):
            with self._output.open("a", encoding="utf-8") as file:
                file.write(f"\nended after {self.job.limit_s:.1f} s, its limit\n")
            self.end()

    def _wait(self, ends: SimpleQueue[Outcome]) -> None:
        if isinstance(self._process, warm.WarmPopen):
            returncode = self._process.wait()
            cpu_s = self._process.processor_s
        else:
            _, status, usage = os.wait4(self._process.pid, 0)
            returncode = self._process.returncode = os.waitstatus_to_exitcode(status)
            cpu_s = usage.ru_utime + usage.ru_stime
        self._over.set()
        wall_s = time.monotonic() - self._began - self._began_s
        ends.put(Outcome(self.job, returncode, self._began_s, wall_s, cpu_s, self._output))


def run(
    jobs: Sequence[Job],
    folder: Path,
    *,
    cores: float,
    idle: Callable[[], float] | None = None,
    look_s: float = LOOK_S,
    started: Callable[[Job], None] = lambda job: None,
    ended: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """Run all jobs; return their outcomes in the order of their ends.

    ``idle``: returns how many cores have idled since its last call, as :class:`Idle` does; without
    it, only what the jobs say of themselves counts. Their outputs are written to ``folder``. A job
    that comes after one that failed does not run, and has no outcome. Raises ValueError for an
    order that cannot be kept.
    """
    _check(jobs)
    began = time.monotonic()
    waiting = list(jobs)
    running: dict[str, _Running] = {}
    ends: SimpleQueue[Outcome] = SimpleQueue()
    outcomes: list[Outcome] = []
    passed: set[str] = set()
    last_start = began

    def start(fits: Callable[[Job, Sequence[Job]], bool], most: int) -> None:
        nonlocal last_start
        for job in list(waiting):
            if not most:
                return
            if job.after <= passed and fits(job, [each.job for each in running.values()]):
                waiting.remove(job)
                started(job)
                running[job.name] = _Running(job, folder, began, ends)
                last_start = time.monotonic()
                most -= 1

    def start_what_fits() -> None:
        start(lambda job, beside: _fits(job, beside, cores), len(waiting))

    try:
        start_what_fits()
        while running:
            try:
                outcome = ends.get(timeout=look_s if idle is not None else None)
            except Empty:
                free = idle() if idle is not None else 0.0
                settled = time.monotonic() >= last_start + 2 * look_s
                if free >= ROOM and settled and len(running) < MOST * cores:
                    start(_may_run_beside, 1)
                continue
            del running[outcome.job.name]
            outcomes.append(outcome)
            if outcome.status == 0:
                passed.add(outcome.job.name)
            ended(outcome)
            start_what_fits()
    finally:
        for one in running.values():
            one.end()
    return outcomes


def _fits(job: Job, running: Sequence[Job], cores: float) -> bool:
    """Whether a job may start beside those that run, and the cores bear it by what they say."""
    if not running:
        return True
    load = sum(each.load for each in running) + job.load
    return load <= cores and _may_run_beside(job, running)


def _may_run_beside(job: Job, running: Sequence[Job]) -> bool:
    if job.alone or any(each.alone for each in running):
        return False
    return not job.lane or all(each.lane != job.lane for each in running)


class Idle:
    """How many cores of this machine have idled since the last call (Linux)."""

    SOURCE = Path("/proc/stat")

    def __init__(self) -> None:
        self._then, self._ticks = time.monotonic(), self._idle_ticks()

    def __call__(self) -> float:
        """Return it; a number of cores, as 0.5."""
        now, ticks = time.monotonic(), self._idle_ticks()
        seconds = (ticks - self._ticks) / os.sysconf("SC_CLK_TCK")
        cores = seconds / max(now - self._then, 1e-6)
        self._then, self._ticks = now, ticks
        return cores

    def _idle_ticks(self) -> int:
        """Return the time spent idle, and waiting for a disk (proc(5))."""
        first = self.SOURCE.read_text(encoding="ascii").partition("\n")[0]
        return sum(map(int, first.split()[4:6]))


def _check(jobs: Sequence[Job]) -> None:
    known: set[str] = set()
    for job in jobs:
        if job.name in known:
            raise ValueError(f"two jobs are called {job.name}")
        if job.after - known:
            raise ValueError(f"{job.name} comes after {sorted(job.after - known)}, not before it")
        known.add(job.name)
