"""Who may join: a node with the login of the broker, the protocol and the secret of the others."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import nats
import nats.errors
import pytest

from tests.brokers.parts import ask, echo, serving
from tests.cluster.gate import gate
from tests.support.brokers import NatsServer
from tests.support.certificates import self_made
from tests.support.clusters import Holder
from tests.support.nats_nodes import SECRET, JetStreamServer, nodes, only_here
from tests.support.waiting import until
from vixio.bus import connect
from vixio.bus.address import TlsFiles, parse_address
from vixio.cli.diagnostics.check_server import try_cluster
from vixio.cluster.nats import joining, peers
from vixio.cluster.nats.cluster import NatsCluster, Node
from vixio.cluster.nats.names import DEVICES, NEWS, STATE
from vixio.core.cluster import ClusterUnavailable
from vixio.core.errors import ConfigError
from vixio.settings import Settings

DEVICE = "02:00:00:00:00:01"
CONFIG = Path("deploy/nats.conf")
PASSWORDS = {"NATS_PASSWORD": "of-the-nodes", "NATS_TOOLS_PASSWORD": "of-the-services"}


def node(url: str, secret: str = SECRET, **login: str) -> NatsCluster:
    return NatsCluster(Node("late", parse_address(url, **login), secret))  # type: ignore[arg-type]


async def refusal(cluster: NatsCluster) -> str:
    with pytest.raises(ConfigError) as refused:
        await cluster.start()
    return str(refused.value)


async def test_a_new_node_knows_the_others_when_it_has_started(bus: JetStreamServer) -> None:
    async with nodes(bus.url, 2) as (one, two):
        await one.leases.acquire(DEVICE, Holder().on_lost)
        one.limits.set("connections", "10.0.0.1", 2)
        two.limits.set("connections", "10.0.0.1", 1)
        async with joined(node(bus.url)) as late:
            assert late.presence.where(DEVICE) == one.node
            assert late.limits.others("connections", "10.0.0.1") == 3


async def test_a_node_with_another_secret_is_refused(bus: JetStreamServer) -> None:
    async with nodes(bus.url, 1):
        said = await refusal(node(bus.url, "another secret, long enough too"))
        assert said == (
            "cluster: cluster.secret is not that of the other nodes: all need the same one"
        )


async def test_a_node_of_another_protocol_is_refused(
    bus: JetStreamServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with nodes(bus.url, 1):
        late = node(bus.url)
        asked = late._joining.ask

        async def ask_as_another() -> str:
            with monkeypatch.context() as patch:
                patch.setattr(joining, "PROTOCOL", 99)
                asking = asyncio.ensure_future(asked())
                await asyncio.sleep(0)  # the request is made
            return await asking

        monkeypatch.setattr(late._joining, "ask", ask_as_another)
        assert "which speaks another protocol: stop them all" in await refusal(late)


async def test_nodes_that_started_together_ignore_strangers(
    bus: JetStreamServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody could refuse either of them: what a stranger says is not heard."""
    async with nodes(bus.url, 1) as (one,):
        client = await nats.connect(bus.url)
        forged = {"node": "stranger", "number": 1, "protocol": 1, "proof": "wrong", "rows": []}
        await client.publish(f"{STATE}.stranger", json.dumps(forged).encode())
        await client.close()
        await until(lambda: "node ignored" in caplog.text)
        assert one.peers.nodes == []


async def test_vixio_check_names_the_nodes(bus: JetStreamServer) -> None:
    section = {"url": bus.url, "secret": SECRET}
    settings = Settings.model_validate({"cluster": section})
    async with nodes(bus.url, 2):
        assert await try_cluster(settings) == "joined, 2 other nodes there now"
        other = Settings.model_validate({"cluster": {**section, "secret": "another of 16 bytes"}})
        with pytest.raises(ConfigError, match=r"cluster\.secret is not that of the other nodes"):
            await try_cluster(other)
    assert await try_cluster(settings) == "joined, 0 other nodes there now"
    bus.kill()
    with pytest.raises(ConfigError, match="NATS does not answer"):
        await try_cluster(settings)


@pytest.mark.parametrize("body", [b"no JSON", b"[]", b"{}", b'{"node": 1}', b"[" * 100_000])
async def test_a_malformed_message_is_a_line_in_the_log(
    bus: JetStreamServer, caplog: pytest.LogCaptureFixture, body: bytes
) -> None:
    async with nodes(bus.url, 2) as (one, two):
        client = await nats.connect(bus.url)
        for subject in (f"{STATE}.x", NEWS, "vixio.cluster.join", "vixio.cluster.status"):
            await client.publish(subject, body)
        await client.close()
        two.limits.set("connections", "10.0.0.1", 3)
        await until(lambda: one.limits.others("connections", "10.0.0.1") == 3)
        await (await one.leases.acquire(DEVICE, Holder().on_lost)).release()
    assert "Traceback" not in caplog.text


async def test_a_server_without_jetstream_is_named(tmp_path: Path) -> None:
    only_here()
    server = NatsServer(tmp_path)
    server.start()
    try:
        assert "run nats-server with JetStream" in await refusal(node(server.url))
    finally:
        server.kill()


async def test_a_node_that_is_refused_late_serves_no_more_devices(bus: JetStreamServer) -> None:
    """It started without a bus; when there is one, the others, who joined before it, have another
    secret."""
    async with gate(bus.port) as way:
        way.down()
        alone = node(way.url, "another secret, long enough too")
        await alone.start()
        try:
            lease = await alone.leases.acquire(DEVICE, Holder().on_lost)
            assert lease.valid
            async with nodes(bus.url, 1):
                way.up()
                await until(alone.problem)
                with pytest.raises(ClusterUnavailable, match=r"cluster\.secret"):
                    await alone.leases.acquire("02:00:00:00:00:02", Holder().on_lost)
        finally:
            await alone.close()


@pytest.fixture
def guarded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[JetStreamServer]:
    """Run NATS with the configuration that we give out."""
    only_here()
    for name, password in PASSWORDS.items():
        monkeypatch.setenv(name, password)
    server = JetStreamServer(tmp_path)
    server.arguments = ["-c", str(CONFIG.resolve())]
    server.start()
    yield server
    server.kill()


@asynccontextmanager
async def joined(cluster: NatsCluster) -> AsyncIterator[NatsCluster]:
    await cluster.start()
    try:
        yield cluster
    finally:
        await cluster.close()


async def test_the_login_of_the_nodes(guarded: JetStreamServer) -> None:
    login = {"user": "vixio", "password": PASSWORDS["NATS_PASSWORD"]}
    async with joined(node(guarded.url, **login)) as cluster:
        assert (await cluster.leases.acquire(DEVICE, Holder().on_lost)).valid
    said = await refusal(node(guarded.url, user="vixio", password="wr0ng"))
    assert "refuses the login" in said
    assert "wr0ng" not in said


async def test_tool_services_work_and_touch_nothing_of_the_cluster(
    guarded: JetStreamServer,
) -> None:
    tools = {"user": "tools", "password": PASSWORDS["NATS_TOOLS_PASSWORD"]}
    own = {"user": "vixio", "password": PASSWORDS["NATS_PASSWORD"]}
    service = connect(parse_address(guarded.url, **tools))  # type: ignore[arg-type]
    caller = connect(parse_address(guarded.url, **own))  # type: ignore[arg-type]
    async with joined(node(guarded.url, **own)) as cluster:
        await service.start()
        await caller.start()
        try:
            await until(lambda: service.connected and caller.connected)
            async with serving(service, "request:tg:joke", echo):
                assert json.loads(await ask(caller, "request:tg:joke", a=1))[2] == {"a": 1}
        finally:
            await service.close()
            await caller.close()
        await cluster.leases.acquire(DEVICE, Holder().on_lost)

        errors: list[str] = []

        async def on_error(error: Exception) -> None:
            errors.append(str(error))

        client = await nats.connect(guarded.url, error_cb=on_error, **tools)
        heard: list[object] = []

        async def hear(message: object) -> None:
            heard.append(message)

        await client.subscribe("vixio.cluster.>", cb=hear)
        await client.publish(f"{STATE}.forged", b"{}")
        await client.publish(f"$KV.{DEVICES}.02=3A00", b"{}")
        with pytest.raises((nats.errors.Error, asyncio.TimeoutError)):
            await client.request(f"$JS.API.STREAM.INFO.KV_{DEVICES}", b"", timeout=0.5)
        await until(lambda: len(errors) >= 4)
        assert all("permissions violation" in error.lower() for error in errors)
        cluster.limits.set("connections", "10.0.0.1", 1)
        await client.close()
        assert not heard
        assert not cluster.peers.nodes


async def test_the_way_to_the_bus_is_encrypted(tmp_path: Path) -> None:
    only_here()
    _, certificate = self_made(tmp_path)
    server = JetStreamServer(tmp_path)
    key = str(tmp_path / "server.key")
    server.arguments = ["--tls", "--tlscert", str(certificate), "--tlskey", key]
    server.start()
    try:
        url = f"tls://127.0.0.1:{server.port}"
        trusted = parse_address(url, tls=TlsFiles(ca=str(certificate)))
        async with joined(NatsCluster(Node("safe", trusted, SECRET))) as cluster:
            assert (await cluster.leases.acquire(DEVICE, Holder().on_lost)).valid
            assert cluster.connected
        async with joined(NatsCluster(Node("unsafe", parse_address(url), SECRET))) as cluster:
            assert not cluster.connected
    finally:
        server.kill()


def test_a_silent_node_is_given_up_before_its_devices_are_missed() -> None:
    assert peers.SILENT_S < 15
