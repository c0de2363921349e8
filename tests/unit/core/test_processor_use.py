"""What this process uses: its loop's thread, its other threads, and its children."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from vixio.core import cores, processor_use
from vixio.core.processor_use import ProcessorUse, of_thread

WORK_S = 0.3

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def work(clock: Callable[[], float] = time.thread_time) -> None:
    """Use the processor for a while, by the calling thread's own clock."""
    end = clock() + WORK_S
    while clock() < end:
        pass


def test_what_the_loop_does_is_used() -> None:
    use = ProcessorUse()
    work()
    seconds, used = use.since()
    # Waiting for a core counts as well, so that it may be all of the time.
    assert WORK_S * 0.95 <= used <= seconds * 1.05 + 0.02


def test_a_process_that_sleeps_uses_next_to_nothing() -> None:
    use = ProcessorUse()
    released = threading.Event()
    released.wait(WORK_S)  # what is looked at is a time in which nothing is done
    seconds, used = use.since()
    assert seconds >= WORK_S
    assert used < seconds / 2


@pytest.mark.slow
def test_other_threads_count_by_the_cores_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "processor_time", lambda: 0.5)
    use = ProcessorUse()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()
    _, used = use.since()
    assert used >= WORK_S / 0.5 * 0.95, "half of a core: what was used is twice as much of it"


@pytest.mark.slow
@LINUX
def test_the_processes_that_it_started_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor_use, "own_time", lambda: 1.0)
    code = (
        "import sys, time\n"
        "sys.stdin.readline()\n"
        f"while time.process_time() < {2 * WORK_S}: pass\n"
        "print(1, flush=True); sys.stdin.readline()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        use = ProcessorUse()
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.readline() == "1\n"
        _, used = use.since()
        child.stdin.close()
    assert used >= WORK_S * 0.95


@LINUX
def test_the_time_of_a_thread_is_its_own() -> None:
    before, _ = of_thread()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()
    after, _ = of_thread()
    assert after - before < WORK_S / 2
