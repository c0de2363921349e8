"""RabbitMQ, as any user, with all its processes on loopback and on ports of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

from tests.support.brokers import BrokerServer, missing
from tests.support.certificates import self_made
from tests.support.servers import free_port

_PROGRAMS = "/usr/lib/rabbitmq/bin"
"""Where Debian has the server itself; that in /usr/sbin insists on its own user."""

_LOOPBACK = "{127,0,0,1}"


class RabbitMqServer(BrokerServer):
    """A RabbitMQ node. Further TLS port: :attr:`tls_port`, with the certificate :attr:`ca`."""

    scheme = "amqp"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.tls_port = free_port()
        self._epmd_port = free_port()
        self._node_port = free_port()
        self._epmd: subprocess.Popen[bytes] | None = None
        _, self.ca = self_made(directory)

    @property
    def pid(self) -> int:
        """The server's process."""
        assert self._process is not None
        return self._process.pid

    @property
    def processes(self) -> list[int]:
        """All its processes."""
        epmd = [] if self._epmd is None else [self._epmd.pid]
        return [*descendants(self.pid), self.pid, *epmd]

    @property
    def tls_url(self) -> str:
        """Where it takes connections over TLS."""
        return f"amqps://127.0.0.1:{self.tls_port}"

    def command(self) -> tuple[list[str], dict[str, str]]:
        path = os.pathsep.join((_PROGRAMS, os.environ.get("PATH", os.defpath)))
        program = shutil.which("rabbitmq-server", path=path)
        if program is None:
            missing("rabbitmq-server is not installed")
        home = self.directory
        home.joinpath("plugins").write_text("[].\n", "ascii")
        home.joinpath("rabbitmq.conf").write_text(
            f"listeners.tcp.local = 127.0.0.1:{self.port}\n"
            f"listeners.ssl.local = 127.0.0.1:{self.tls_port}\n"
            f"ssl_options.certfile = {self.ca}\n"
            f"ssl_options.keyfile = {home / 'server.key'}\n"
            "ssl_options.verify = verify_none\n",
            "utf-8",
        )
        environment = {
            "PATH": path,
            "LANG": "C.UTF-8",
            "HOME": str(home),
            "RUNNING_UNDER_SYSTEMD": "true",  # the script becomes the server, and stays no parent
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_CONFIG_FILE": str(home / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "plugins"),
            "RABBITMQ_LOG_BASE": str(home / "logs"),
            "RABBITMQ_MNESIA_BASE": str(home / "mnesia"),
            "RABBITMQ_NODENAME": "vixio@localhost",
            "RABBITMQ_DIST_PORT": str(self._node_port),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": (
                f"-start_epmd false -kernel inet_dist_use_interface {_LOOPBACK}"
            ),
            **self._epmd_environment(),
        }
        self._start_epmd(environment)
        return [program], environment

    def kill(self) -> None:
        epmd, self._epmd = self._epmd, None
        if self._process is not None:
            for pid in descendants(self.pid):
                _kill(pid)
        super().kill()
        if epmd is not None:
            epmd.kill()
            epmd.wait(10)

    def _start_epmd(self, environment: dict[str, str]) -> None:
        """Run the node's name server; one that Erlang starts would outlive it."""
        if self._epmd is not None and self._epmd.poll() is None:
            return
        program = shutil.which("epmd", path=environment["PATH"])
        if program is None:
            missing("epmd is not installed")
        self._epmd = subprocess.Popen(
            [program], env=environment, cwd=self.directory, start_new_session=True
        )

    def _epmd_environment(self) -> dict[str, str]:
        return {"ERL_EPMD_ADDRESS": "127.0.0.1", "ERL_EPMD_PORT": str(self._epmd_port)}


def descendants(pid: int) -> list[int]:
    """Return the processes below ``pid``, as Linux lists them."""
    found: list[int] = []
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(word) for word in listed.read_text("ascii").split()]
        except OSError:
            continue  # it has ended
        for child in children:
            found += (child, *descendants(child))
    return found


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
