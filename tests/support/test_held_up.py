"""Scheduling delay is measured only while the machine is busy."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.held_up import HeldUp

SCHEDSTAT = Path("/proc/self/schedstat")
SPIN = "import time; end = time.monotonic() + 30\nwhile time.monotonic() < end: pass"


def test_the_worst_moment_and_the_sum() -> None:
    held = HeldUp()
    for at, seconds in ((1.0, 0.02), (1.05, 0.03), (1.5, 0.04), (9.0, 1.0)):
        held.add(at, seconds)
    assert held.at_worst(0.0, 2.0) == pytest.approx(0.05)
    assert held.in_all(0.0, 2.0) == pytest.approx(0.09)
    assert held.in_all(2.0, 3.0) == held.at_worst(2.0, 3.0) == 0


def test_a_process_that_is_gone_waits_for_nothing() -> None:
    held = HeldUp(2**22 + 1)
    held.look(1.0)
    held.look(2.0)
    assert held.in_all(0, 3) == 0


@pytest.mark.skipif(not SCHEDSTAT.exists(), reason="only Linux counts how long threads wait")
def test_who_shares_a_processor_waits_for_it() -> None:
    core = min(os.sched_getaffinity(0))
    with (
        subprocess.Popen([sys.executable, "-c", SPIN]) as one,
        subprocess.Popen([sys.executable, "-c", SPIN]) as other,
    ):
        try:
            for process in (one, other):
                os.sched_setaffinity(process.pid, {core})
            held = HeldUp(one.pid, other.pid)
            began = time.monotonic()
            # Of two that want one processor, one always waits.
            while held.in_all(began, time.monotonic()) < 0.3 and time.monotonic() < began + 20:
                time.sleep(0.02)
                held.look(time.monotonic())
            assert held.at_worst(began, time.monotonic()) > 0.02
        finally:
            one.kill()
            other.kill()


def test_a_process_that_works_all_the_time_was_not_held_up() -> None:
    held = HeldUp(os.getpid())
    began, work = time.monotonic(), time.thread_time()
    held.look(0.0)
    while time.thread_time() < work + 0.3:
        pass
    held.look(1.0)
    worked = time.thread_time() - work
    # On a busy machine it waits for a processor in between.
    assert held.in_all(0, 2.0) <= time.monotonic() - began - worked + 0.001
