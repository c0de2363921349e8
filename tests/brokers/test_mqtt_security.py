"""Nothing of one device is read or written by another: the same attacks on each kind of broker."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast
from urllib.request import Request, urlopen

import pytest
import pytest_asyncio

from tests.e2e.harness import RunningServer, serving, settings
from tests.e2e.test_reminders import typed
from tests.support.emqx import Emqx
from tests.support.mosquitto import Mosquitto
from tests.support.servers import free_port
from tests.support.waiting import until
from tests.unit.transports.xiaozhi.mqtt.support import (
    ACCEPTED,
    DISCONNECT,
    PINGREQ,
    PINGRESP,
    connect,
    packet,
    string,
    up,
)
from vixio.transports.xiaozhi.mqtt.carrier import MqttCarrier

VICTIM, ATTACKER = "02:00:00:00:00:0a", "02:00:00:00:00:0b"
SECRET = "a secret for this test alone"
FOR_THE_VICTIM, BY_THE_ATTACKER = b'{"type":"for-the-victim"}', b'{"type":"by-the-attacker"}'


@dataclass
class Login:
    """What OTA gave a device."""

    client_id: str
    username: str
    password: str

    def connect(self, client_id: str | None = None, **options: Any) -> bytes:  # noqa: ANN401
        payload = options.pop("will", b"") + string(self.username) + string(self.password)
        return connect(client_id or self.client_id, payload=payload, **options)


class Peer:
    """A client that speaks bytes, and keeps all that comes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.got = b""
        self.over = False
        self.send: Callable[[bytes], None] = writer.write
        self.transport = writer.transport
        self._task = asyncio.create_task(self._read(reader))

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while data := await reader.read(2**16):
                self.got += data
        except OSError:
            pass
        self.over = True

    def has(self, data: bytes) -> bool:
        return data in self.got

    async def until(self, enough: Callable[[bytes], bool]) -> None:
        """Wait for what has come to be enough, or for the end of the connection."""
        await until(lambda: self.over or enough(self.got), what="an answer or the end")

    async def end(self) -> None:
        self.transport.abort()
        await self._task


@dataclass
class Door:
    """A server with a broker. ``taken``: the messages of each device that it took."""

    kind: str
    server: RunningServer
    port: int
    stack: AsyncExitStack
    taken: list[tuple[str, bytes]] = field(default_factory=list)

    async def login(self, device_id: str) -> Login:
        headers = {"Device-Id": device_id, "Client-Id": f"client-{device_id[-2:]}"}
        request = Request(self.server.ota_url, b"{}", headers)  # noqa: S310

        def ask() -> dict[str, Any]:
            with urlopen(request, timeout=30) as answer:  # noqa: S310
                return cast("dict[str, Any]", json.load(answer)["mqtt"])

        found = await asyncio.to_thread(ask)
        assert found["endpoint"].endswith(f":{self.port}")
        return Login(found["client_id"], found["username"], found["password"])

    async def dial(self, *data: bytes) -> Peer:
        peer = Peer(*await asyncio.open_connection("127.0.0.1", self.port))
        self.stack.push_async_callback(peer.end)
        for each in data:
            peer.send(each)
        return peer

    async def device(self, login: Login) -> Peer:
        """Connect a device that is admitted, and wait for its session."""
        before = self.link(login.client_id)
        peer = await self.dial(login.connect())
        await until(lambda: peer.got.startswith(ACCEPTED), what="a CONNACK")
        await until(lambda: self.link(login.client_id) not in {None, before}, what="its session")
        return peer

    def link(self, client_id: str) -> Any:  # noqa: ANN401
        found = [each for each in self.carrier._channels if each.client_id == client_id]
        return found[-1] if found else None

    @property
    def carrier(self) -> Any:  # noqa: ANN401
        mqtt = self.server.app.mqtt
        assert mqtt is not None
        return mqtt.carrier


@pytest_asyncio.fixture(params=["embedded", "mosquitto", "emqx"])
async def door(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Door]:
    """Run a server and its broker."""
    async with AsyncExitStack() as stack:
        found = await stack.enter_async_context(opened(request.param, tmp_path))
        taken = MqttCarrier.received

        def take(self: MqttCarrier, link: Any, payload: bytes) -> None:  # noqa: ANN401
            found.taken.append((link.client_id, payload))
            taken(self, link, payload)

        monkeypatch.setattr(MqttCarrier, "received", take)
        yield found


@asynccontextmanager
async def opened(kind: str, folder: Path) -> AsyncIterator[Door]:
    mqtt: dict[str, Any] = {"port": 0, "udp_port": 0}
    http_port = free_port()
    async with AsyncExitStack() as stack:
        if kind == "mosquitto":
            mosquitto = Mosquitto(folder)
            mosquitto.start()
            stack.callback(mosquitto.kill)
            mqtt["broker"] = mosquitto.section()
        elif kind == "emqx":
            emqx = Emqx()
            emqx.server_http = f"http://127.0.0.1:{http_port}"
            await emqx.start()
            stack.push_async_callback(emqx.stop)
            mqtt |= {"address": "127.0.0.1", "port": emqx.port, "broker": emqx.section()}
        auth = {"enabled": True, "secret": SECRET}
        config = settings(
            mqtt=mqtt,
            server={"http_port": http_port, "auth": auth},
            data={"folder": str(folder / "data"), "database": ""},
        )
        server = await stack.enter_async_context(serving(config, **typed()))
        found = Door(kind, server, 0, stack)
        await until(lambda: not found.carrier.problem(), what="the broker")
        found.port = found.carrier.port
        async with AsyncExitStack() as peers:
            found.stack = peers
            yield found


async def unharmed(door: Door, victim: Peer, link: Any, *attackers: Peer) -> None:  # noqa: ANN401
    """The victim's session is the same, it reads what is for it, and nobody else does or wrote."""
    assert door.link(VICTIM) is link, "its connection ended"
    assert link.publish(FOR_THE_VICTIM)
    await until(lambda: FOR_THE_VICTIM in victim.got, what="a message")
    victim.send(up(b'{"type":"by-the-victim"}', f"vixio/up/{VICTIM}"))
    await until(lambda: (VICTIM, b'{"type":"by-the-victim"}') in door.taken, what="its answer")
    assert BY_THE_ATTACKER not in victim.got
    assert not [each for each in door.taken if each == (VICTIM, BY_THE_ATTACKER)]
    for each in attackers:
        assert b"the-victim" not in each.got


TOPICS = (
    f"vixio/up/{VICTIM}",
    f"vixio/up/{VICTIM.upper()}",
    f"vixio/up/{ATTACKER}/../{VICTIM}",
    f"vixio/down/{VICTIM}",
    f"vixio/down/{ATTACKER}",
    f"vixio/presence/{VICTIM}",
    "vixio/up/+",
    "vixio/down/#",
    "#",
    "$SYS/broker/uptime",
    f"$share/vixio/vixio/up/{VICTIM}",
    "",
)


@pytest.mark.parametrize("first", [0x30, 0x31, 0x32, 0x33, 0x34], ids=hex)
async def test_no_topic_of_another_is_written(door: Door, first: int) -> None:
    victim = await door.device(await door.login(VICTIM))
    link, login = door.link(VICTIM), await door.login(ATTACKER)
    attackers = []
    for topic in TOPICS:
        number = b"\0\1" if first & 6 else b""
        bad = packet(first, string(topic), number, BY_THE_ATTACKER)
        attackers.append(peer := await door.dial(login.connect(), bad, PINGREQ))
        await peer.until(lambda got: PINGRESP in got)
    await unharmed(door, victim, link, *attackers)
    # What may have been retained reaches neither of them later.
    again = await door.device(await door.login(VICTIM))
    await unharmed(door, again, door.link(VICTIM), *attackers)


async def test_no_topic_of_another_is_read(door: Door) -> None:
    victim = await door.device(await door.login(VICTIM))
    link, login = door.link(VICTIM), await door.login(ATTACKER)
    filters = [
        *(each for each in TOPICS if each),
        "vixio/down/+",
        "vixio/presence/+",
        "+/+/+",
        "$share/vixio/vixio/down/+",
        "vixio/#",
    ]
    attackers = []
    for topic in filters:
        bad = packet(0x82, b"\0\7", string(topic), b"\1")
        attackers.append(peer := await door.dial(login.connect(), bad, PINGREQ))
        await peer.until(lambda got: PINGRESP in got)
        link.publish(FOR_THE_VICTIM)
        victim.send(up(b'{"type":"by-the-victim"}', f"vixio/up/{VICTIM}"))
        mark = f'{{"type":"{topic[:20]}"}}'.encode()
        link.publish(mark)
        await until(partial(victim.has, mark), what="the mark")
    await unharmed(door, victim, link, *attackers)


async def test_a_will_in_the_name_of_another(door: Door) -> None:
    victim = await door.device(await door.login(VICTIM))
    link, login = door.link(VICTIM), await door.login(ATTACKER)
    for retain in (0, 0x20):
        for topic in (f"vixio/up/{VICTIM}", f"vixio/down/{VICTIM}", f"vixio/presence/{VICTIM}"):
            will = string(topic) + string(BY_THE_ATTACKER)
            peer = await door.dial(login.connect(flags=0xC6 | retain, will=will), PINGREQ)
            await peer.until(lambda got: PINGRESP in got)
            await peer.end()
    await until(lambda: door.link(ATTACKER) is None, what="the attacker's end")
    await unharmed(door, victim, link)


async def test_only_its_own_login_admits_a_device(door: Door) -> None:
    victim = await door.device(await door.login(VICTIM))
    link, own, other = door.link(VICTIM), await door.login(ATTACKER), await door.login(VICTIM)
    logins = [
        Login(VICTIM, own.username, own.password),
        Login(VICTIM, other.username, own.password),
        Login(VICTIM, other.username, ""),
        Login(VICTIM, "", ""),
        Login(VICTIM.upper(), own.username, own.password),
        Login(VICTIM, "vixio", own.password),
        Login(VICTIM, "vixio-server", own.password),
        Login(ATTACKER, "vixio-server", own.password),
        Login(ATTACKER, own.username, other.password),
        *(
            Login(each, own.username, own.password)
            for each in ("#", "+", "vixio/up", "a/b", "$SYS")
        ),
    ]
    for login in logins:
        peer = await door.dial(login.connect(login.client_id))
        await peer.until(lambda got: len(got) >= 4)
        assert peer.got[:3] != ACCEPTED[:3] or peer.got[3] in {2, 4, 5}, login
    await unharmed(door, victim, link)


async def test_a_revoked_password_opens_nothing(door: Door) -> None:
    login = await door.login(ATTACKER)
    peer = await door.device(login)
    registry = door.server.app.registry
    await registry.with_repository(lambda rows: rows.revoke_tokens(ATTACKER, "a test"))
    await registry.catch_up()
    await until(lambda: door.link(ATTACKER) is None and peer.over, what="the end of its connection")
    again = await door.dial(login.connect())
    await until(lambda: len(again.got) >= 4, what="a refusal")
    assert again.got[3] in {4, 5}


async def test_broken_and_oversized_packets_cost_the_sender_alone(door: Door) -> None:
    victim = await door.device(await door.login(VICTIM))
    link, login = door.link(VICTIM), await door.login(ATTACKER)
    topic = string(f"vixio/up/{ATTACKER}")
    broken = [
        b"\xff" * 64,
        b"\x30\xff\xff\xff\xff\xff",
        packet(0x30, b"\xff\xff"),
        packet(0x30, string(b"vixio/up/\xff\xfe")),
        packet(0x36, topic, b"\0\1x"),
        packet(0x82, b"\0\1"),
        packet(0x10, b"\0\4MQTT"),
        login.connect(),
        packet(0x30, topic, bytes(200_000)),
    ]
    for data in broken:
        peer = await door.dial(login.connect(), data)
        await peer.until(lambda _got: False)
    for size in (60_000, 66_000, 100_000):
        large = await door.dial(login.connect(), packet(0x30, topic, b" " * size), PINGREQ)
        await large.until(lambda got: PINGRESP in got)
        large.send(DISCONNECT)
        await large.until(lambda _got: False)
    await unharmed(door, victim, link)


async def test_a_flood_ends_the_sender_alone(door: Door) -> None:
    victim = await door.device(await door.login(VICTIM))
    link, login = door.link(VICTIM), await door.login(ATTACKER)
    peer = await door.device(login)
    peer.send(up(b'{"type":"x"}', f"vixio/up/{ATTACKER}") * 5_000)
    await peer.until(lambda _got: False)
    assert door.server.count("mqtt.closed.too_much") == 1
    await unharmed(door, victim, link, peer)


async def test_a_second_connection_of_a_device_takes_its_place(door: Door) -> None:
    login = await door.login(VICTIM)
    older = await door.device(login)
    newer = await door.device(login)
    await until(lambda: older.over, what="the end of the older connection")
    await until(lambda: len(door.carrier._channels) == 1, what="one of them")
    await unharmed(door, newer, door.link(VICTIM), older)
