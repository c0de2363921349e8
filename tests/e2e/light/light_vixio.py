"""What spares a server of the tests processor time: providers, and workers that are forked.

This folder is a distribution: on the import path its providers can be named in a settings file.
``asr: {name: nothing}`` hears no word, without the second that a recogniser takes to load;
``tts: {name: silence}`` speaks silence, a hundredth of a second for each letter.

:func:`main` is the command ``vixio`` for a program that :mod:`tests.support.warm` forks. Passwords
are hashed at once, and the first two worker processes are forked too, instead of started: a worker
imports for a second. One that replaces a worker starts as usual.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from vixio.providers.registry import ProviderFactory
from vixio.testing import ScriptedASR, ScriptedTTS

WORKER: Final = "vixio.cluster.workers.process"
SPARES: Final = 2


class NoOptions(BaseModel):
    """The options of both; limits of time are accepted, as those of other recognisers."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    timeout: float = 0.0


NOTHING = ProviderFactory(NoOptions, lambda _: ScriptedASR([""]))
SILENCE = ProviderFactory(NoOptions, lambda _: ScriptedTTS(seconds_per_char=0.01))


class ForkedProcess:
    """A child of this process, with the methods of asyncio's Process that a supervisor calls."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._descriptor = os.pidfd_open(pid)
        self._loop.add_reader(self._descriptor, self._reap)

    def _reap(self) -> None:
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)
        _, status = os.waitpid(self.pid, 0)
        self.returncode = os.waitstatus_to_exitcode(status)
        self._ended.set()

    async def wait(self) -> int:
        """Wait for its end, and return its exit status."""
        await self._ended.wait()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)


class Spare:
    """A process that waits until it becomes a worker, and ends if this process ends before."""

    def __init__(self) -> None:
        self._ours, its = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            self._ours.close()
            _wait_and_become_worker(its)
        its.close()

    def become_worker(self, descriptor: int) -> ForkedProcess:
        """Have it serve with its end of a channel."""
        with self._ours:
            socket.send_fds(self._ours, [b"!"], [descriptor])
        return ForkedProcess(self.pid)


def _wait_and_become_worker(control: socket.socket) -> None:
    _, descriptors, _, _ = socket.recv_fds(control, 1, 1)
    if not descriptors:
        os._exit(0)
    channel = 3
    os.dup2(descriptors[0], channel)
    os.closerange(channel + 1, os.sysconf("SC_OPEN_MAX"))
    control.detach()
    os.setsid()
    from vixio.cluster.workers import process

    sys.exit(process.main([str(channel)]))


def starting_workers_from(spares: list[Spare], start: Callable[..., Any]) -> Callable[..., Any]:
    """Return what takes the place of asyncio.create_subprocess_exec, which is ``start``."""

    async def begin(*command: str, **options: Any) -> Any:  # noqa: ANN401 - of asyncio's function
        if WORKER in command and spares:
            (descriptor,) = options["pass_fds"]
            return spares.pop(0).become_worker(descriptor)
        return await start(*command, **options)

    return begin


def main() -> None:
    """Run the command ``vixio``."""
    from vixio.cli.commands import main as vixio
    from vixio.web.api import passwords

    passwords.N = 2  # type: ignore[misc]
    spares = [Spare() for _ in range(SPARES)]
    start = asyncio.create_subprocess_exec
    asyncio.create_subprocess_exec = starting_workers_from(spares, start)
    vixio()
