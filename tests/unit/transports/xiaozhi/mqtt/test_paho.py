"""The MQTT server as paho, an independent client, sees it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from paho.mqtt.client import Client, MQTTMessage, MQTTv31, MQTTv311
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from tests.support.waiting import until
from tests.unit.transports.xiaozhi.mqtt.support import DEVICE, SECRET, Owner, Server, serving
from vixio.transports.xiaozhi.mqtt.packets import ConnectCode


class Paho(Client):
    """A client in a thread of its own that notes what it is told."""

    def __init__(self, version: MQTTProtocolVersion) -> None:
        super().__init__(CallbackAPIVersion.VERSION2, DEVICE, protocol=version)
        self.codes: list[int] = []
        self.messages: list[tuple[str, bytes]] = []
        self.granted: list[int] = []
        self.acknowledged: list[int] = []
        self.username_pw_set("client-uuid", SECRET)
        self.will_set("last/words", b"gone", qos=2, retain=True)

        def connected(
            _: Client, __: object, ___: object, code: ReasonCode, ____: Properties | None
        ) -> None:
            self.codes.append(code.value)

        def subscribed(
            _: Client, __: object, ___: int, codes: list[ReasonCode], ____: Properties | None
        ) -> None:
            self.granted += [code.value for code in codes]

        def published(
            _: Client, __: object, message: int, ___: ReasonCode, ____: Properties | None
        ) -> None:
            self.acknowledged.append(message)

        def received(_: Client, __: object, message: MQTTMessage) -> None:
            self.messages.append((message.topic, bytes(message.payload)))

        self.on_connect = connected
        self.on_subscribe = subscribed
        self.on_publish = published
        self.on_message = received


@asynccontextmanager
async def running(server: Server, version: MQTTProtocolVersion) -> AsyncIterator[Paho]:
    client = Paho(version)
    await asyncio.to_thread(client.connect, "127.0.0.1", server.listener.port, 120)
    client.loop_start()
    try:
        yield client
    finally:
        client.disconnect()
        await asyncio.to_thread(client.loop_stop)


@pytest.mark.parametrize("version", [MQTTv31, MQTTv311])
async def test_a_conversation(version: MQTTProtocolVersion) -> None:
    async with serving() as server, running(server, version) as client:
        await until(lambda: client.codes == [0])
        (link,) = server.owner.links
        assert (link.client_id, link.username, link.password) == (DEVICE, "client-uuid", SECRET)

        client.publish(f"vixio/up/{DEVICE}", b"plain")
        client.publish(f"vixio/up/{DEVICE}", b"acknowledged" * 100, qos=1, retain=True)
        await until(lambda: len(client.acknowledged) == 2)
        assert server.owner.messages == [b"plain", b"acknowledged" * 100]

        assert link.publish(b"unasked")
        assert link.publish(bytes(60_000))
        await until(lambda: len(client.messages) == 2)
        topic = f"vixio/down/{DEVICE}"
        assert client.messages == [(topic, b"unasked"), (topic, bytes(60_000))]

        client.subscribe([(topic, 1), ("vixio/down/#", 0)])
        client.unsubscribe(topic)
        await until(lambda: client.granted == [0, 128])
        client.disconnect()
        await until(lambda: server.owner.ends == ["disconnected"])


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (ConnectCode.IDENTIFIER_REJECTED, "Client identifier not valid"),
        (ConnectCode.UNAVAILABLE, "Server unavailable"),
        (ConnectCode.BAD_LOGIN, "Bad user name or password"),
        (ConnectCode.NOT_AUTHORISED, "Not authorized"),
    ],
)
async def test_a_refusal(code: ConnectCode, reason: str) -> None:
    async with serving(Owner(code)) as server, running(server, MQTTv311) as client:
        await until(lambda: client.codes)
        assert str(ReasonCode(2, identifier=client.codes[0])) == reason
