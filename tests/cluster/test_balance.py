"""Without a balancer: the OTA of any node sends devices to the one with the fewest."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.cluster.served import served_nodes
from tests.support.nats_nodes import JetStreamServer


@pytest.mark.slow
async def test_devices_spread_and_leave_a_node_that_drains(
    bus: JetStreamServer, tmp_path: Path
) -> None:
    async with (
        served_nodes(bus.url, tmp_path, 2) as (nodes, ports),
        AsyncExitStack() as stack,
    ):

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
