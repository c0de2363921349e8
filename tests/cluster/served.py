"""Nodes as ``vixio serve`` runs them, whose registry is a file that they share."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from tests.e2e.processes import running
from tests.e2e.test_workers import VIXIO, Served
from tests.support import patient
from tests.support.nats_nodes import SECRET
from tests.support.servers import free_ports


def websocket(port: int) -> str:
    """Return where devices reach the node on a port."""
    return f"ws://127.0.0.1:{port}/xiaozhi/v1/"


@asynccontextmanager
async def served_nodes(
    bus: str, folder: Path, count: int
) -> AsyncIterator[tuple[list[Served], list[int]]]:
    """Run nodes that name their own WebSocket to OTA; yield them and their ports."""
    nodes: list[Served] = []
    ports: list[int] = []
    async with AsyncExitStack() as stack:
        for number in range(1, count + 1):
            port, http_port = free_ports(2)
            sections = {
                **patient.sections(),
                "server": {"host": "127.0.0.1", "port": port, "http_port": http_port},
                "data": {"folder": str(folder / "data")},
                "memory": {"store": "none"},
                "cluster": {
                    "url": bus,
                    "secret": SECRET,
                    "node": f"node-{number}",
                    "websocket_url": websocket(port),
                },
            }
            path = folder / f"node{number}.yaml"
            path.write_text(json.dumps(sections), encoding="utf-8")
            command = (VIXIO, "serve", "--config", path)
            process = await stack.enter_async_context(running(command, folder))
            await process.line("silero")
            ota = f"http://127.0.0.1:{http_port}/xiaozhi/ota/"
            nodes.append(Served(process, ota, http_port))
            ports.append(port)
        for node in nodes:
            await node.until(lambda found: found["nodes"] == count, "the other nodes")
        yield nodes, ports
