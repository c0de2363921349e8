"""A Pulsar broker for tests: pulsar-lite, which speaks Pulsar's binary protocol.

It is not for production. What it lacks: authentication, TLS, and consumer numbers of its own (see
:func:`spread_consumers`).
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import pytest

from tests.support.brokers import BrokerServer, missing


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


_connections = count()


def spread_consumers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the consumers of each connection numbers that those of the next seven have not.

    A client numbers its consumers from 0. Pulsar tells those of several clients apart by the
    connection; pulsar-lite 0.2.0 does not, and refuses a number that its subscription has already.
    """
    from vixio.bus.pulsar import PulsarBroker

    opened = PulsarBroker._open

    async def open_and_skip(self: PulsarBroker) -> None:
        await opened(self)
        assert self._client is not None
        for _ in range(next(_connections) % 8 * 8):
            skipped = await self._client.subscribe(f"{self.mailbox}.skip", "skip")
            await skipped.close()

    monkeypatch.setattr(PulsarBroker, "_open", open_and_skip)
