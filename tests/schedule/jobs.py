"""Runs commands side by side, so that the cores are busy and not overrun.

A job says how many cores it keeps busy. Jobs start in their order as long as the cores bear them,
so a conversation, which mostly waits, runs beside a compiler.
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
from queue import SimpleQueue

GRACE_S = 10.0
"""Between SIGTERM and SIGKILL for a job that is ended."""


@dataclass(frozen=True)
class Job:
    """One command.

    ``load``: the cores that it keeps busy. ``after``: names of jobs that must have passed before.
    ``lane``: of the jobs with the same lane, one runs at a time. ``alone``: nothing runs beside it.
    ``limit_s``: after so many seconds it is ended, and has failed.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    load: float = 1.0
    after: frozenset[str] = frozenset()
    lane: str = ""
    alone: bool = False
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
            self._process = subprocess.Popen(
                job.command,
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
        _, status, usage = os.wait4(self._process.pid, 0)
        self._over.set()
        self._process.returncode = os.waitstatus_to_exitcode(status)
        ends.put(
            Outcome(
                self.job,
                self._process.returncode,
                self._began_s,
                time.monotonic() - self._began - self._began_s,
                usage.ru_utime + usage.ru_stime,
                self._output,
            )
        )


def run(
    jobs: Sequence[Job],
    folder: Path,
    *,
    cores: float,
    started: Callable[[Job], None] = lambda job: None,
    ended: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """Run all jobs; return their outcomes in the order of their ends.

    Their outputs are written to ``folder``. A job that comes after one that failed does not run,
    and has no outcome. Raises ValueError for an order that cannot be kept.
    """
    _check(jobs)
    began = time.monotonic()
    waiting = list(jobs)
    running: dict[str, _Running] = {}
    ends: SimpleQueue[Outcome] = SimpleQueue()
    outcomes: list[Outcome] = []
    passed: set[str] = set()

    def start_what_fits() -> None:
        for job in list(waiting):
            if job.after <= passed and _fits(job, [each.job for each in running.values()], cores):
                waiting.remove(job)
                started(job)
                running[job.name] = _Running(job, folder, began, ends)

    try:
        start_what_fits()
        while running:
            outcome = ends.get()
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
    """Whether a job may start beside those that run."""
    if not running:
        return True
    if job.alone or any(each.alone for each in running):
        return False
    if job.lane and any(each.lane == job.lane for each in running):
        return False
    return sum(each.load for each in running) + job.load <= cores


def _check(jobs: Sequence[Job]) -> None:
    known: set[str] = set()
    for job in jobs:
        if job.name in known:
            raise ValueError(f"two jobs are called {job.name}")
        if job.after - known:
            raise ValueError(f"{job.name} comes after {sorted(job.after - known)}, not before it")
        known.add(job.name)
