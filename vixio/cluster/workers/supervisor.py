"""Starts the worker processes of one server, replaces those that end, and stops them in order."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from vixio.cluster.context import ServerInfo
from vixio.cluster.workers.channel import Channel
from vixio.cluster.workers.coordinator import Coordinator
from vixio.cluster.workers.messages import Kind
from vixio.cluster.workers.process import Plan
from vixio.composition.run import StopRequest
from vixio.core.backoff import Backoff
from vixio.core.children import command, environment
from vixio.core.errors import VixioError
from vixio.settings import Settings
from vixio.transports.admission.listener import raise_descriptor_limit
from vixio.transports.admission.port_errors import port_error

_log = logging.getLogger(__name__)

_RESTART: Final = Backoff(first=0.5, longest=5.0, factor=3.0, immediate=1)
"""Delays before each further start of a worker that did not get ready."""

STOP_S: Final = 15.0
"""A worker closes its devices, which takes some seconds at most; then it is killed. A drain comes
before."""


class WorkerFailed(VixioError):
    """A worker could not start; its own message says why."""


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for. ``config``: the settings file, None for the default."""

    settings: Settings
    config: Path | None
    processes: int
    log_level: str | None


class Supervisor:
    """``listening`` is called once all workers accept devices."""

    def __init__(self, request: Request, listening: Callable[[ServerInfo], None]) -> None:
        self._request = request
        self._listening = listening
        self._coordinator = Coordinator(self._ready)
        self._secret = secrets.token_hex(32)
        self._about: dict[int, dict[str, Any]] = {}
        self._announced = False
        self._stopping = asyncio.Event()
        self._processes: dict[int, asyncio.subprocess.Process] = {}
        self.restarts = 0
        """How many workers were replaced."""

    async def run(self, stop: StopRequest) -> None:
        """Serve until ``stop`` asks for the end. Raises ConfigError, WorkerFailed if it cannot."""
        raise_descriptor_limit()
        server, mqtt = self._request.settings.server, self._request.settings.mqtt
        with (
            _reserved(server.host, server.port, "port") as port,
            _reserved(server.host, server.http_port, "http_port") as http_port,
            _reserved(server.host, mqtt.port, "mqtt.port") if mqtt else contextlib.nullcontext(),
        ):
            keepers = [
                asyncio.create_task(self._keep(number, port, http_port))
                for number in range(1, self._request.processes + 1)
            ]
            stopping = asyncio.create_task(stop.wait())
            try:
                await asyncio.wait([stopping, *keepers], return_when=asyncio.FIRST_COMPLETED)
            finally:
                stopping.cancel()
                self._stopping.set()
                await self._end(keepers, drain=not stop.at_once)
                await self._coordinator.close()
            for keeper in keepers:
                keeper.result()

    def reload(self) -> None:
        """Have all workers read the settings file again."""
        for process in self._processes.values():
            _signal(process, signal.SIGHUP)

    async def _end(self, keepers: list[asyncio.Task[None]], *, drain: bool) -> None:
        for process in self._processes.values():
            _signal(process, signal.SIGTERM if drain else signal.SIGINT)
        draining = self._request.settings.timeouts.drain if drain else 0
        _, late = await asyncio.wait(keepers, timeout=STOP_S + draining)
        if late:
            for process in self._processes.values():
                _signal(process, signal.SIGKILL)
            await asyncio.wait(keepers)

    async def _keep(self, number: int, port: int, http_port: int) -> None:
        """Keep one worker running until the server stops."""
        server = self._request.settings.server
        plan = Plan(
            number,
            self._request.processes,
            str(self._request.config or ""),
            server.host,
            port,
            http_port,
            self._request.log_level,
            self._secret,
        )
        failures = 0
        while not self._stopping.is_set():
            status = await self._one_life(plan)
            if self._stopping.is_set():
                return
            if number in self._about:  # it did serve: begin with the short delays again
                failures = 0
                del self._about[number]
            elif not self._announced:
                raise WorkerFailed(f"worker {number} could not start (exit status {status})")
            self.restarts += 1
            _log.error("worker ended, restarting", extra={"worker": number, "status": status})
            failures += 1
            await asyncio.sleep(_RESTART.delay(failures))

    async def _one_life(self, plan: Plan) -> int:
        """Start a worker and return its exit status when it has ended."""
        ours, theirs = socket.socketpair()
        with theirs:
            process = await asyncio.create_subprocess_exec(
                *command("vixio.cluster.workers.process", str(theirs.fileno())),
                pass_fds=[theirs.fileno()],
                env=environment(),
                start_new_session=True,  # a Ctrl-C at the terminal is ours
            )
        self._processes[plan.number] = process
        channel = await Channel.open(ours)
        channel.send(Kind.PLAN, **asdict(plan))
        if self._stopping.is_set():  # it was started while the others were being stopped
            _signal(process, signal.SIGTERM)
        try:
            await self._coordinator.attend(plan.number, channel)
        finally:
            await channel.close()
        # Its end of the pair is closed: it is ending, or has sent a malformed message.
        try:
            async with asyncio.timeout(STOP_S):
                return await process.wait()
        except TimeoutError:
            _signal(process, signal.SIGKILL)
            return await process.wait()

    def _ready(self, number: int, about: dict[str, Any]) -> None:
        self._about[number] = about
        _log.info("worker is ready", extra={"worker": number})
        if len(self._about) == self._request.processes and not self._announced:
            self._announced = True
            self._listening(replace(ServerInfo(**about), workers=self._request.processes))


@contextlib.contextmanager
def _reserved(host: str, port: int, key: str) -> Iterator[int]:
    """Hold a port that workers listen on together; yield its number, also where 0 was asked for.

    Bound and not listening, the socket gets no connection, and keeps others from the port.
    Raises ConfigError when it is taken.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as alone:
            # Sharing is between our own: another server there would go unnoticed.
            alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            alone.bind((host, port))
            number: int = alone.getsockname()[1]
        shared = socket.socket(family, socket.SOCK_STREAM)
        try:
            shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            shared.bind((host, number))
        except BaseException:
            shared.close()
            raise
    except OSError as error:
        raise port_error(host, port, key, error) from None
    with shared:
        yield number


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):  # it ended just now
            process.send_signal(number)
