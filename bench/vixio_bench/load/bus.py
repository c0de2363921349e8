"""The NATS server that joins the nodes: started for a step, and what it uses and carries."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import urlsplit

from vixio.bus.address import parse_address
from vixio.bus.connect import load_client
from vixio.core.errors import ConfigError, PluginUnavailable
from vixio_bench.load.control import BenchError
from vixio_bench.load.pages import page
from vixio_bench.load.usage import cpu_seconds, resident_kb
from vixio_bench.nats_server import HOW_TO_GET, Running, find_program, jetstream_server

COUNTERS: Final = ("in_msgs", "out_msgs", "in_bytes", "out_bytes")
"""Of the page /varz: what clients sent to the server, and what it delivered to them. Bytes are of
the messages, without the protocol around them."""


def lacking() -> str:
    """Return in one line what several nodes need and this machine lacks; empty: nothing."""
    try:
        load_client(parse_address("nats://127.0.0.1"))
    except PluginUnavailable as error:
        return str(error)
    return "" if find_program() else HOW_TO_GET


@dataclass(frozen=True, slots=True)
class BusLook:
    """One look at the server."""

    at: float
    """Seconds, monotonic."""
    cpu: float
    """Seconds of processor time."""
    rss_kb: int
    in_msgs: int
    out_msgs: int
    in_bytes: int
    out_bytes: int


@dataclass(frozen=True, slots=True)
class BusRate:
    """What the server did between two looks: processor time in cores, the rest a second."""

    seconds: float
    cpu: float
    in_msgs: float
    out_msgs: float
    in_bytes: float
    out_bytes: float

    @classmethod
    def between(cls, before: BusLook, after: BusLook) -> Self:
        """Compare two looks."""
        seconds = after.at - before.at

        def rate(name: str) -> float:
            return float((getattr(after, name) - getattr(before, name)) / seconds)

        return cls(seconds, rate("cpu"), *(rate(name) for name in COUNTERS))


class Bus:
    """A NATS server with JetStream, and the settings with which a server becomes its node."""

    def __init__(self, server: Running) -> None:
        self._server = server
        self._port = urlsplit(server.monitor).port or 0
        self._secret = secrets.token_hex(16)

    def section(self, number: int) -> dict[str, Any]:
        """Return the section ``cluster`` of a node."""
        return {"url": self._server.url, "secret": self._secret, "node": f"node-{number}"}

    async def look(self) -> BusLook:
        """Look at it. Raises BenchError if it does not answer."""
        shown = await page(self._port, "/varz")
        pid = self._server.pid
        counters = (shown[name] for name in COUNTERS)
        return BusLook(time.monotonic(), cpu_seconds(pid), resident_kb(pid), *counters)


@asynccontextmanager
async def running_bus() -> AsyncIterator[Bus]:
    """Run one until the block ends. Raises BenchError."""
    try:
        async with jetstream_server() as server:
            yield Bus(server)
    except ConfigError as error:
        raise BenchError(str(error)) from error
