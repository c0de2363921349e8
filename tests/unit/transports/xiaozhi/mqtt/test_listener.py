"""The port: who is taken, who is turned away, and its end, over real sockets."""

from __future__ import annotations

import asyncio
import random
import socket
from contextlib import suppress

import pytest

from tests.support.waiting import until
from tests.unit.transports.xiaozhi.mqtt.support import (
    ACCEPTED,
    DEVICE,
    PINGREQ,
    PINGRESP,
    SECRET,
    Owner,
    Server,
    connect,
    packet,
    serving,
    string,
    up,
)
from tests.unit.transports.xiaozhi.support import BOUND_S
from vixio.core.errors import ConfigError
from vixio.transports.admission.limits import Limits
from vixio.transports.admission.listener import Listener
from vixio.transports.xiaozhi.mqtt import link as link_module
from vixio.transports.xiaozhi.mqtt import listener as listener_module

UNAVAILABLE = b"\x20\x02\x00\x03"


async def test_a_taken_port_is_said_with_its_key() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server = Server()
        server.listener._port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=r"in use.*\(mqtt\.port in the settings\)"):
            await server.listener.start()
    await server.listener.stop()


async def test_the_owner_may_turn_an_arrival_away() -> None:
    async with serving() as server:
        server.owner.full = True
        assert await (await server.dial()).rest() == UNAVAILABLE
        assert not server.counters.snapshot()  # the owner counts it
        server.owner.full = False
        async with server.device():
            pass


async def test_near_the_limit_of_descriptors_new_ones_are_turned_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serving() as server, server.device() as device:
        monkeypatch.setattr(listener_module, "descriptor_ceiling", lambda: 0)
        assert await (await server.dial()).rest() == UNAVAILABLE
        assert server.counters.snapshot() == {"admission.limited.descriptors": 1}
        assert server.refused == [("descriptors", "", "")]
        device.send(PINGREQ)
        assert await device.read(2) == PINGRESP
        assert server.owner.arrivals == 1


async def test_without_a_descriptor_the_answer_is_one_of_mqtt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Listener] = []

    class Watched(Listener):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[arg-type]
            made.append(self)

    monkeypatch.setattr(listener_module, "Listener", Watched)
    async with serving() as server:
        with socket.create_connection(("127.0.0.1", server.listener.port), BOUND_S) as client:
            with suppress(BlockingIOError):
                made[0]._turn_away()
            assert await asyncio.to_thread(client.recv, 100) == UNAVAILABLE
        assert server.counters.snapshot() == {"admission.limited.descriptors": 1}


async def test_connections_without_a_connect_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(limits=Limits(handshakes=2)) as server, server.device():
        oldest, other = await server.dial(), await server.dial()
        await until(lambda: server.owner.arrivals == 3)
        assert await (await server.dial()).rest() == UNAVAILABLE
        assert server.refused == [("mqtt_handshakes", "127.0.0.1", "")]
        monkeypatch.setattr(listener_module, "SLOW_CONNECT_S", 0.0)
        late = await server.dial()
        assert await oldest.rest() == b""
        for client in (other, late):
            client.send(connect())
            assert await client.read(4) == ACCEPTED
        assert server.counters.snapshot() == {
            "mqtt.refused.handshakes": 1,
            "mqtt.refused.slow_connect": 1,
        }


async def test_departures_make_room() -> None:
    async with serving(limits=Limits(handshakes=1)) as server:
        for _ in range(3):
            (await server.dial()).writer.transport.abort()
            await until(lambda: server.owner.departures == server.owner.arrivals)
        async with server.device():
            pass
        assert not server.refused


async def test_stop_ends_connections_in_every_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener_module, "TICK_S", 0.01)
    monkeypatch.setattr(link_module, "CLOSE_TIMEOUT_S", 0.1)
    async with serving() as server:
        port = server.listener.port
        silent = await server.dial()
        async with (
            server.device("deaf", receive_buffer=4_096),
            server.device("gone") as gone,
            server.device("refused") as refused,
            server.device() as device,
        ):
            while server.owner.links[0].publish(bytes(1_000)):
                pass
            gone.writer.write_eof()
            refused.send(connect())
            assert server.owner.links[-1].publish(b"goodbye")
            await asyncio.wait_for(server.listener.stop(), BOUND_S)
            assert (await device.rest()).endswith(b"goodbye")
            assert await silent.rest() == b""
            assert server.owner.departures == server.owner.arrivals == 5
            assert len(server.owner.ends) == 4
            with pytest.raises(ConnectionRefusedError):
                await server.dial()
            await server.listener.stop()
        assert server.listener.port == port
        await server.listener.start()
        async with server.device():
            pass


async def test_processes_may_share_a_port() -> None:
    async with serving(shared=True) as one, serving(shared=True) as other:
        assert other.listener.port != one.listener.port
        third = Server(shared=True)
        third.listener._port = one.listener.port
        await third.listener.start()
        await third.listener.stop()


async def test_what_is_accepted_while_it_stops_is_closed() -> None:
    async with serving() as server:
        server.listener._stopping = True
        assert await (await server.dial()).rest() == b""
        assert not server.owner.arrivals


async def test_no_timer_runs_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener_module, "TICK_S", 0.01)
    async with serving() as server:

        def runs() -> bool:
            return server.listener._timer is not None

        assert not runs()
        async with server.device():
            assert runs()
        await until(lambda: not runs())


def spoiled(chance: random.Random) -> bytes:
    """Return a conversation with some bytes changed, left out or put in."""
    data = bytearray(
        connect(f"device-{chance.randrange(100)}")
        + up(b"x" * chance.randrange(300), f"vixio/up/device-{chance.randrange(100)}")
        + packet(0x82, b"\0\1", string("#"), b"\0")
        + PINGREQ
    )
    for _ in range(chance.randrange(6)):
        at = chance.randrange(len(data))
        match chance.randrange(3):
            case 0:
                data[at] = chance.randrange(256)
            case 1:
                del data[at : at + chance.randrange(9)]
            case _:
                data[at:at] = chance.randbytes(chance.randrange(9))
    return bytes(data) if chance.random() < 0.9 else chance.randbytes(200)


@pytest.mark.slow
async def test_spoiled_conversations_disturb_nobody(caplog: pytest.LogCaptureFixture) -> None:
    chance = random.Random(1883)
    async with serving() as server, server.device() as device:
        for n in range(400):
            client = await server.dial()
            data = spoiled(chance)
            cut = chance.randrange(len(data) + 1)
            client.send(data[:cut])
            if chance.random() < 0.5:
                await asyncio.sleep(0)
            client.send(data[cut:])
            match chance.randrange(3):
                case 0:
                    client.writer.transport.abort()
                case 1:
                    client.writer.write_eof()
                    await client.rest()
                case _:
                    device.send(PINGREQ)
                    assert await device.read(2) == PINGRESP
            if n % 40 == 0:
                device.send(up(b"healthy"))
        assert server.owner.ends.count("gone") < len(server.owner.ends)
        await until(lambda: server.owner.messages.count(b"healthy") == 10)
        assert server.owner.links[0].client_id == DEVICE
    assert not [record for record in caplog.records if record.exc_info]
    assert SECRET not in caplog.text


async def test_an_owner_sees_each_of_two_connections_of_a_device() -> None:
    """Which of them stays is for the owner to say."""
    owner = Owner()
    async with serving(owner) as server, server.device() as older, server.device() as newer:
        assert [link.client_id for link in owner.links] == [DEVICE, DEVICE]
        closing = asyncio.create_task(owner.links[0].close())
        assert await older.rest() == b""
        older.writer.close()
        await asyncio.wait_for(closing, BOUND_S)
        newer.send(PINGREQ)
        assert await newer.read(2) == PINGRESP
