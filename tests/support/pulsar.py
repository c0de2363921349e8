"""A Pulsar broker for tests: pulsar-lite, which speaks Pulsar's binary protocol.

It is not for production. What it lacks: authentication, TLS, and consumer numbers of its own (see
:func:`spread_consumers`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.brokers import BrokerServer, missing

if TYPE_CHECKING:
    from vixio.bus.pulsar import PulsarBroker


class PulsarServer(BrokerServer):
    """pulsar-lite with its data in the directory of the test."""

    scheme = "pulsar"

    def command(self) -> tuple[list[str], dict[str, str]]:
        config = self.directory / "pulsar-lite.toml"
        # Without the last two lines it serves figures on a fixed port of all interfaces.
        config.write_text(
            f'addr = "127.0.0.1:{self.port}"\n'
            f'db_path = "{self.directory / "data"}"\n'
            'log_level = "warn"\n'
            "[metrics]\n"
            "enabled = false\n",
            "utf-8",
        )
        return [pulsar_program(), "--config", str(config)], dict(os.environ)

    def signal(self, number: int) -> None:
        """Send it a signal: to stand still, to go on."""
        assert self._process is not None
        self._process.send_signal(number)


def pulsar_program() -> str:
    """Return the path of pulsar-lite."""
    found = find_spec("pulsar_lite")
    if found is None or not found.submodule_search_locations:
        missing("pulsar-lite is not installed")
    return str(Path(found.submodule_search_locations[0]) / "bin" / "pulsar-lite")


COUNTER = "VIXIO_TEST_PULSAR_CONNECTIONS"
"""Environment variable: the file that has a byte for each connection to the broker."""


def spread_consumers(server: PulsarServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the consumers of each connection numbers that those of the next seven have not.

    In this process, and in those that it starts with its environment. A client numbers its
    consumers from 0. Pulsar tells those of several clients apart by the connection; pulsar-lite
    0.2.0 does not, and refuses a number that its subscription has already.
    """
    from vixio.bus.pulsar import PulsarBroker

    monkeypatch.setenv(COUNTER, str(server.directory / "connections"))
    monkeypatch.setattr(PulsarBroker, "_open", _skipping(PulsarBroker._open))
    start = "from tests.support.pulsar import spread_here\n\nspread_here()\n"
    (server.directory / "sitecustomize.py").write_text(start, "utf-8")
    folders = [str(server.directory), str(Path(__file__).parents[2])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([*folders, os.environ.get("PYTHONPATH", "")]))


def spread_here() -> None:
    """Do so in a process that begins."""
    from vixio.bus.pulsar import PulsarBroker

    PulsarBroker._open = _skipping(PulsarBroker._open)  # type: ignore[assignment,method-assign]


def _skipping(
    opened: Callable[[PulsarBroker], Coroutine[Any, Any, None]],
) -> Callable[[PulsarBroker], Coroutine[Any, Any, None]]:
    async def open_and_skip(broker: PulsarBroker) -> None:
        await opened(broker)
        assert broker._client is not None
        for _ in range(_next() % 8 * 8):
            skipped = await broker._client.subscribe(f"{broker.mailbox}.skip", "skip")
            await skipped.close()

    return open_and_skip


def _next() -> int:
    """Count a connection, among all processes."""
    with Path(os.environ[COUNTER]).open("ab", buffering=0) as counter:
        counter.write(b".")
        return counter.tell()
