"""The field: the server, its attackers and the healthy devices, and what they showed."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.healthy import Healthy
from tests.chaos.outcome import Outcome
from tests.chaos.rogue_service import REST_KINDS
from tests.chaos.rpc import Process
from tests.support.held_up import HeldUp
from tests.support.servers import free_ports

_SETTINGS: dict[str, Any] = {
    "server": {"host": "127.0.0.1", "port": 0, "http_port": 0},
    "memory": {"store": "none"},
    "data": {"database": "none"},
    "timeouts": {
        "hello": 3,
        "turn": 12,
        "vad": 4,
        "asr": 4,
        "agent_first": 4,
        "agent_next": 4,
        "tts": 4,
        "device_tool": 2,
        "vision": 2,
    },
}
"""As shipped, but for the times that a fault may take: the run does not wait for them for long. On
a busy machine what works takes seconds, too."""


def settings(service_port: int) -> dict[str, Any]:
    """Return the server's settings, with tools of servers and services that fail."""
    service = f"http://127.0.0.1:{service_port}"
    child = {
        "command": sys.executable,
        "env": {"PYTHONPATH": os.pathsep.join(sys.path)},
        "timeout": 2,
        "connect_timeout": 5,
    }
    rogue = "tests.chaos.rogue_mcp"
    return {
        **_SETTINGS,
        "mcp_servers": {
            **{
                which: {**child, "args": ["-m", rogue, which]}
                for which in ("calls", "many", "endless")
            },
            "web": {"url": f"{service}/mcp", "timeout": 2, "connect_timeout": 5},
        },
        "tools": {
            "rest": [
                {
                    "name": f"rest_{kind}",
                    "description": "A tool.",
                    "url": f"{service}/{kind}",
                    "allow_private": True,
                    "timeout": 1.5,
                }
                for kind in ("ok", *REST_KINDS)
            ]
        },
    }


ATTACK_S = 240.0
"""An attack that takes longer has stopped the server."""


@dataclass
class Field:
    """One run. ``long``: the full numbers, else a tenth or less of them."""

    server: Process
    attackers: Process
    healthy: Healthy
    log: Path
    long: bool
    seed: int
    _victims: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _read: int = 0

    @property
    def port(self) -> int:
        """The WebSocket's."""
        port: int = self.server.hello["port"]
        return port

    @property
    def http_port(self) -> int:
        """The OTA endpoint's."""
        port: int = self.server.hello["http_port"]
        return port

    def times(self, long: int, short: int) -> int:
        """Return the number that this form of the run wants."""
        return long if self.long else short

    async def attack(self, name: str, **arguments: Any) -> Outcome:  # noqa: ANN401  JSON
        """Have the attackers do something; ``port`` is the WebSocket's unless given."""
        result = await self.attackers.call(
            name, timeout=ATTACK_S, **{"port": self.port, **arguments}
        )
        return Outcome(**result)

    async def order(self, stage: str, kind: str, times: int) -> tuple[str, int]:
        """Order a fault for a device that is yet to come; return its id and number."""
        number = next(self._victims)
        device_id = f"victim-{number}"
        await self.server.call("order", device=device_id, stage=stage, kind=kind, times=times)
        return device_id, number

    async def new_log_lines(self) -> list[str]:
        """Return what the server has logged since the last call."""
        await self.server.call("flush")
        text = self.log.read_text(errors="replace")[self._read :]
        self._read += len(text)
        return text.splitlines()

    async def gauges(self, *, collect: bool = False) -> dict[str, int]:
        """Return everything of the server that could grow."""
        gauges: dict[str, int] = await self.server.call("gauges", collect=collect)
        return gauges


Attack = Callable[[Field], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One attack under its name. Those of one ``group`` run side by side in the short form.

    ``lasting``: it takes ten seconds there, or more.
    """

    group: str
    name: str
    run: Attack
    lasting: bool = False


@asynccontextmanager
async def open_field(log: Path, *, devices: int, long: bool, seed: int) -> AsyncIterator[Field]:
    """Start everything; at the end stop it, in order, whatever happened."""
    log.write_bytes(b"")  # noqa: ASYNC240  a moment, before anything is measured
    service_port = free_ports(1)[0]
    server, attackers = await asyncio.gather(
        Process.start("tests.chaos.server", log, settings=settings(service_port)),
        Process.start(
            "tests.chaos.attackers", log.with_suffix(".attackers"), service_port=service_port
        ),
    )
    url = f"ws://127.0.0.1:{server.hello['port']}/xiaozhi/v1/"
    healthy = Healthy(url, devices, HeldUp(server.pid, os.getpid()))
    try:
        await healthy.start()
        yield Field(server, attackers, healthy, log, long, seed)
    finally:
        try:
            await healthy.stop()
        finally:
            await attackers.stop()
            status = await server.stop()
    if status != 0:
        raise RuntimeError(f"the server ended with status {status}")
