"""Without a balancer: the OTA of any node sends devices to the one with the fewest."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.e2e.processes import free_ports, running
from tests.e2e.test_workers import VIXIO, Served
from tests.support import patient
from tests.support.nats_nodes import SECRET, JetStreamServer


@pytest.mark.slow
async def test_devices_spread_and_leave_a_node_that_drains(
    bus: JetStreamServer, tmp_path: Path
) -> None:
    nodes: list[Served] = []
    ports: list[int] = []
    async with AsyncExitStack() as stack:
        for number in (1, 2):
            port, http_port = free_ports(2)
            sections = {
                **patient.sections(),
                "server": {"host": "127.0.0.1", "port": port, "http_port": http_port},
                "data": {"folder": str(tmp_path / "data")},
                "memory": {"store": "none"},
                "cluster": {
                    "url": bus.url,
                    "secret": SECRET,
                    "node": f"node-{number}",
                    "websocket_url": f"ws://127.0.0.1:{port}/xiaozhi/v1/",
                },
            }
            path = tmp_path / f"node{number}.yaml"
            path.write_text(json.dumps(sections), encoding="utf-8")
            command = (VIXIO, "serve", "--config", path)
            process = await stack.enter_async_context(running(command, tmp_path))
            await process.line("silero")
            ota = f"http://127.0.0.1:{http_port}/xiaozhi/ota/"
            nodes.append(Served(process, ota, http_port))
            ports.append(port)
        for node in nodes:
            await node.until(lambda found: found["nodes"] == 2, "the other node")

        async def connect(count: int, ota: str) -> Counter[int]:
            """Connect devices at once; return how many went to which port."""
            made = [SimulatedDevice(DeviceConfig(ota_url=ota, mode="manual")) for _ in range(count)]
            for device in made:
                stack.push_async_callback(device.close)
            await asyncio.gather(*(device.start() for device in made))
            answers = [device.ota for device in made]
            return Counter(
                urlsplit(answer.websocket_url).port or 0 for answer in answers if answer is not None
            )

        spread = await connect(6, nodes[0].ota)
        assert all(spread[port] >= 2 for port in ports), spread
        found = await nodes[0].until(lambda found: found["connected"] == 6, "all devices")
        assert [each["connected"] for each in found["workers"]] == [spread[port] for port in ports]
        assert [each["node"][:6] for each in found["workers"]] == ["node-1", "node-2"]
        await nodes[1].server.stop(signal.SIGTERM)
        assert await connect(3, nodes[0].ota) == {ports[0]: 3}
