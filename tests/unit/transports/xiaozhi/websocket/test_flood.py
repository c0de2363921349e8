"""A process that floods the server, and a healthy device beside it, over real sockets.

What the healthy one feels is bounded generously: the machine that runs the tests may be busy. A
flood without limits makes its pongs late by hundreds of milliseconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from websockets.asyncio.client import ClientConnection

from tests.support.waiting import until
from tests.unit.transports.xiaozhi.support import Server, receive_json, running
from vixio.core.clock import now

FLOODER = Path(__file__).with_name("flooder.py")


@contextlib.asynccontextmanager
async def flooding(server: Server, kind: str) -> AsyncIterator[None]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(FLOODER),
        str(server.transport.port),
        kind,
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.kill()
        await process.wait()


async def pong_p95(client: ClientConnection, times: int = 50) -> float:
    """Return the 95th percentile, in seconds, of ping to pong."""
    took = []
    for _ in range(times):
        began = now()
        await client.send('{"type":"ping"}')
        assert (await receive_json(client))["type"] == "pong"
        took.append(now() - began)
        await asyncio.sleep(0.03)  # the pace of a device that is not limited
    return sorted(took)[int(0.95 * times)]


@pytest.mark.parametrize("kind", ["audio", "tiny", "json", "ping", "connects"])
async def test_a_flood_is_shut_out_and_its_neighbour_notices_nothing(kind: str) -> None:
    async with running(trusted_proxies=(), max_connections=5_000) as server:
        async with server.client("healthy") as client:
            quiet = await pong_p95(client, 20)
            async with flooding(server, kind):
                await until(lambda: any(".limited." in name for name in server.counters.snapshot()))
                flooded = await pong_p95(client)
            assert flooded <= quiet + 0.1
            assert client.close_code is None
            limited = {
                name.removeprefix("xiaozhi.limited.")
                for name in server.counters.snapshot()
                if ".limited." in name
            }
            assert limited & {"too_much_audio", "too_many_messages", "connects"}
        await until(lambda: server.transport.stats()["connected"] == 0)
