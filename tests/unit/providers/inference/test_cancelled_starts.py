"""A start that is cancelled, also while it cleans up, leaves no process behind."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import threading
from typing import Any

import pytest

from vixio.providers.espeak_process.pool import EspeakPool, acquire, release
from vixio.providers.inference import workers

LIMIT = 20.0


class Spawning:
    """Starts the processes when it is told to, in the thread that asked."""

    def __init__(self) -> None:
        self.asked = threading.Semaphore(0)
        self.go_on = threading.Event()
        self.begun: list[subprocess.Popen[bytes]] = []
        self._really = workers.spawn

    def __call__(
        self, program: workers.WorkerProgram[Any], argument: str, channel: socket.socket
    ) -> subprocess.Popen[bytes]:
        self.asked.release()
        assert self.go_on.wait(LIMIT)
        process = self._really(program, argument, channel)
        self.begun.append(process)
        return process


@pytest.fixture
def spawning(monkeypatch: pytest.MonkeyPatch) -> Spawning:
    made = Spawning()
    monkeypatch.setattr(workers, "spawn", made)
    return made


@pytest.mark.parametrize("cancellations", [1, 2, 3])
@pytest.mark.slow
async def test_while_the_processes_are_spawned(spawning: Spawning, cancellations: int) -> None:
    starting = asyncio.create_task(EspeakPool(2).start())
    for _ in range(2):
        assert await asyncio.to_thread(spawning.asked.acquire, timeout=LIMIT)
    for _ in range(cancellations):
        starting.cancel()
        for _ in range(10):  # let it begin its clean-up
            await asyncio.sleep(0)
    spawning.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert len(spawning.begun) == 2
    assert None not in [process.returncode for process in spawning.begun]


@pytest.mark.slow
async def test_while_the_last_holder_lets_go(spawning: Spawning) -> None:
    spawning.go_on.set()
    await acquire()
    letting_go = asyncio.create_task(release())
    for _ in range(10):
        await asyncio.sleep(0)
        letting_go.cancel()
    with pytest.raises(asyncio.CancelledError):
        await letting_go
    assert None not in [process.returncode for process in spawning.begun]
