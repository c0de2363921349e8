"""The server that the simulated devices of this process talk to, over loopback sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from vixio.server import Providers, Server
from vixio.settings import Settings


@asynccontextmanager
async def running(
    listening: Mapping[str, Any],
    providers: Providers | None = None,
    timeouts: Mapping[str, float] | None = None,
    sections: Mapping[str, Any] | None = None,
) -> AsyncIterator[tuple[Server, str]]:
    """Run a server with the default set, or ``providers`` in its place; yield it and its address.

    ``listening``, ``timeouts`` and further ``sections``: of the settings. Raises VixioError if it
    cannot work.
    """
    settings = Settings.model_validate(
        {
            "server": {"host": "127.0.0.1", "port": 0, "http_port": 0},
            "memory": {"store": "none"},
            "data": {"database": "none"},
            "api": {"enabled": False},
            "listening": dict(listening),
            "timeouts": dict(timeouts or {}),
            **(sections or {}),
        }
    )
    async with Server(settings, providers or Providers()) as server:
        await server.start()
        await server.loaded()
        yield server, f"ws://127.0.0.1:{server.transport.port}/xiaozhi/v1/"
