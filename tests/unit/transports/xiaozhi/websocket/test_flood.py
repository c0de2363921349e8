"""A process that floods the server, and a healthy device beside it, over real sockets.

A flood without limits makes the pongs of the healthy one late by hundreds of milliseconds. What the
machine kept this process from running is taken off: other work is no flood.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from websockets.asyncio.client import ClientConnection

from tests.support.held_up import waited_ns
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


async def pong_p90(client: ClientConnection, times: int = 20) -> float:
    """Return the 90th percentile, in seconds, of ping to pong."""
    took = []
    thread = Path(f"/proc/self/task/{threading.get_native_id()}")
    for _ in range(times):
        began, waited = now(), waited_ns(thread) or 0
        await client.send('{"type":"ping"}')
        assert (await receive_json(client))["type"] == "pong"
        took.append(now() - began - ((waited_ns(thread) or 0) - waited) / 1e9)
        await asyncio.sleep(0.03)  # the pace of a device that is not limited
    return sorted(took)[int(0.9 * times)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["audio", "tiny", "json", "ping", "connects"])
async def test_a_flood_is_closed_without_affecting_other_devices(kind: str) -> None:
    async with running(trusted_proxies=(), max_connections=5_000) as server:
        async with server.client("healthy") as client:
            quiet = await pong_p90(client, 10)
            async with flooding(server, kind):
                await until(lambda: any(".limited." in name for name in server.counters.snapshot()))
                flooded = await pong_p90(client)
            assert flooded <= quiet + 0.1
            assert client.close_code is None
            limited = {
                name.rpartition(".")[2]
                for name in server.counters.snapshot()
                if ".limited." in name
            }
            assert limited & {"too_much_audio", "too_many_messages", "connects"}
        await until(lambda: server.transport.stats()["connected"] == 0)
