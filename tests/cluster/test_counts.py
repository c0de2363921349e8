"""What a node counts of the bus, of stalls and of lost claims, and that ``/metrics`` shows it."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import nats
import pytest

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.cluster.served import served_nodes, websocket
from tests.e2e.test_metrics import page
from tests.support.clusters import Holder
from tests.support.nats_nodes import SECRET, JetStreamServer, nodes
from tests.support.waiting import until
from vixio.bus.address import parse_address
from vixio.cluster.nats.bucket import Bucket
from vixio.cluster.nats.claims import Claims
from vixio.cluster.nats.cluster import STALL_S, NatsCluster, Node
from vixio.cluster.nats.names import DEVICES, NEWS, PROTOCOL, STATE, proof_of
from vixio.core.cluster import LeaseLost, LossReason
from vixio.core.errors import ConfigError
from vixio.core.metrics import Counters

DEVICE = "02:00:00:00:00:01"
LONG_S = STALL_S + 0.3
STALLS = "cluster.stalls"


def counted(node: NatsCluster) -> dict[str, int]:
    """Return what a node has counted, without what there was none of.

    A busy machine may have it stand still at any time.
    """
    found = node.counters.snapshot()
    return {name: count for name, count in found.items() if count and name != STALLS}


async def counts(node: NatsCluster, **expected: int) -> None:
    """Wait until a node has counted this and nothing else; ``_`` stands for a dot."""
    wanted = {f"cluster.{name.replace('_', '.')}": count for name, count in expected.items()}
    try:
        await until(lambda: counted(node) == wanted)
    except TimeoutError:
        assert counted(node) == wanted


async def test_messages_that_are_malformed_or_of_others(bus: JetStreamServer) -> None:
    def sign_of_life(node: str, **other: object) -> bytes:
        proof = proof_of(SECRET, node)
        body = {"node": node, "number": 1, "protocol": PROTOCOL, "proof": proof, "rows": []}
        return json.dumps({**body, **other}).encode()

    async with nodes(bus.url, 1) as (one,):
        client = await nats.connect(bus.url)
        for body in (b"no JSON", b"[]", b"{}", b"[" * 100_000):
            await client.publish(NEWS, body)
        await client.publish("vixio.cluster.join", b"{}", reply=client.new_inbox())
        await client.publish(f"{STATE}.a", sign_of_life("a", proof="wrong"))
        for _ in range(2):
            await client.publish(f"{STATE}.b", sign_of_life("b", protocol=99))
        await counts(one, messages_malformed=5, messages_secret=1, messages_protocol=2)
        await client.close()
        other = Node("late", parse_address(bus.url), "another secret, long enough too")
        with pytest.raises(ConfigError):
            await NatsCluster(other).start()
        await counts(one, messages_malformed=5, messages_secret=2, messages_protocol=2)
        assert not one.peers.nodes


async def test_a_process_that_stood_still(bus: JetStreamServer) -> None:
    """Whether it had devices or not."""
    async with nodes(bus.url, 1) as (one,):
        time.sleep(LONG_S)  # noqa: ASYNC251 - it blocks the process: that is the stall
        await until(lambda: one.counters.get(STALLS))
        lease = await one.leases.acquire(DEVICE, Holder().on_lost)
        before = one.counters.get(STALLS)
        time.sleep(LONG_S)  # noqa: ASYNC251 - likewise
        await until(lambda: one.counters.get(STALLS) > before)
        await until(lambda: lease.valid)
        await counts(one)


async def test_sessions_that_a_later_connection_ended(bus: JetStreamServer) -> None:
    async with nodes(bus.url, 2) as (one, two):
        await one.leases.acquire(DEVICE, Holder().on_lost)
        await one.leases.acquire(DEVICE, Holder().on_lost)
        await counts(one, claims_reconnected=1)
        lease = await two.leases.acquire(DEVICE, Holder().on_lost)
        await counts(one, claims_reconnected=1, claims_moved=1)
        await lease.release()
        await counts(two)


async def test_a_session_that_never_began(bus: JetStreamServer) -> None:
    async with nodes(bus.url, 1) as (one,):
        overtaken, granted = await asyncio.gather(
            *(one.leases.acquire(DEVICE, Holder().on_lost) for _ in range(2)),
            return_exceptions=True,
        )
        assert isinstance(overtaken, LeaseLost)
        assert not isinstance(granted, BaseException)
        await counts(one, claims_overtaken=1)


async def test_a_write_that_came_after_a_later_claim(bus: JetStreamServer) -> None:
    """The second node waits for the first one; the device goes on to a third one meanwhile."""
    over = asyncio.Event()

    async def slow(_reason: LossReason) -> None:
        await over.wait()

    async with nodes(bus.url, 3, release_timeout=30) as (one, two, three):
        claims = Claims(Bucket(three._link, DEVICES), Counters())
        await one.leases.acquire(DEVICE, slow)
        to_two = asyncio.create_task(two.leases.acquire(DEVICE, Holder().on_lost))
        await until(lambda: one.counters.get("cluster.claims.moved"))
        to_three = asyncio.create_task(three.leases.acquire(DEVICE, Holder().on_lost))
        async with asyncio.timeout(90):
            while (last := await claims.last(DEVICE)) is None or last.node != three.node:
                pass
        over.set()
        with pytest.raises(LeaseLost):
            await to_two
        assert (await to_three).valid
        await counts(two, claims_fenced=1, claims_overtaken=1)
        await counts(three)


@pytest.mark.slow
async def test_the_metrics_of_the_nodes_show_it(bus: JetStreamServer, tmp_path: Path) -> None:
    async with served_nodes(bus.url, tmp_path, 2) as (served, ports):
        url = f"http://127.0.0.1:{served[0].http_port}"

        async def shown(name: str, node: int, least: float, reason: str = "") -> float:
            """Wait until a counter of a node is there and has grown so far; return it."""
            labels = f'reason="{reason}",' if reason else ""
            sample = f'vixio_cluster_{name}_total{{{labels}worker="node-{node}"}} '
            found: list[str] = []
            with suppress(TimeoutError):
                async with asyncio.timeout(60):
                    while True:
                        lines = (await page(url)).splitlines()
                        found = [line for line in lines if line.startswith("vixio_cluster_")]
                        for line in found:
                            if line.startswith(sample) and float(line[len(sample) :]) >= least:
                                return float(line[len(sample) :])
            for number, each in enumerate(served, 1):
                found += [f"node-{number}: {line.rstrip()}" for line in each.server.err[-9:]]
            raise AssertionError("\n".join([f"{sample}is not {least}", *found]))

        for node in (1, 2):
            assert await shown("messages_refused", node, 0, "malformed") == 0
            assert await shown("claims_lost", node, 0, "moved") == 0
        client = await nats.connect(bus.url)
        await client.publish(NEWS, b"no JSON")
        await client.close()
        for node in (1, 2):
            assert await shown("messages_refused", node, 1, "malformed") == 1
        first = DeviceConfig(ws_url=websocket(ports[0]), device_id=DEVICE, mode="manual")
        second = DeviceConfig(ws_url=websocket(ports[1]), device_id=DEVICE, mode="manual")
        async with AsyncExitStack() as devices:
            await devices.enter_async_context(SimulatedDevice(first))
            # Not before its session has begun: a device that connects again while it is still being
            # claimed is counted as overtaken.
            await served[1].until(lambda found: found["sessions"] == 1, "the device")
            await devices.enter_async_context(SimulatedDevice(second))
            assert await shown("claims_lost", 1, 1, "moved") == 1
            before = await shown("stalls", 2, 0)
            process = served[1].server.process
            process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(LONG_S)
            process.send_signal(signal.SIGCONT)
            await shown("stalls", 2, before + 1)
            assert await shown("claims_lost", 2, 0, "moved") == 0
