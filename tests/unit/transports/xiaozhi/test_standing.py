"""A connection that stands while nobody talks, on virtual time and without a network."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, ClassVar

from tests.session.conversation import on_virtual_time
from vixio.core.chunk import DeviceAsleep, DeviceAwake
from vixio.core.clock import now
from vixio.core.device import Device
from vixio.transports.admission.admission import Admission
from vixio.transports.admission.identity import Identity
from vixio.transports.xiaozhi.channel import Channel
from vixio.transports.xiaozhi.framing import Codec, Version
from vixio.transports.xiaozhi.inbox import Inbox
from vixio.transports.xiaozhi.protocol import XiaozhiProtocol
from vixio.transports.xiaozhi.settings import XiaozhiSettings
from vixio.transports.xiaozhi.standing import MISSES, SpeakRequests, StandingConnection

DEVICE = Device("02:00:00:00:00:01", firmware="2.4.2")
HELLO = '{"type":"hello","version":3,"transport":"udp","features":{"mcp":true}}'


class Link(Channel):
    """A standing channel to nowhere, whose device answers pings."""

    transport: ClassVar[str] = "udp"
    standing: ClassVar[bool] = True

    def __init__(self) -> None:
        self.identity = Identity(DEVICE.id)
        self.version, self.address, self.own_host = "2", "192.0.2.1", "192.0.2.2"
        self.headers: Mapping[str, str] = {}
        self.behind_proxy = False
        self.inbox = Inbox(lambda: None, lambda: None)
        self.last_heard = now()
        self.pings = 0
        self.sent: list[dict[str, Any]] = []

    def agree(self, version: Version, codec: Codec) -> None:
        """Nothing."""

    def send_now(self, *messages: str | bytes) -> bool:
        self.sent += [json.loads(each) for each in messages]
        return True

    async def writable(self) -> None:
        """At once."""

    def ping(self) -> None:
        self.pings += 1
        self.last_heard = now()

    def cut(self, why: str) -> None:
        """Nothing."""

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Nothing."""

    def abort(self) -> None:
        """Nothing."""

    def kinds(self) -> list[str]:
        return [str(each.get("state", each["type"])) for each in self.sent]


def connected(requests: SpeakRequests | None = None) -> tuple[StandingConnection, Link]:
    link = Link()
    connection = StandingConnection(
        link,
        XiaozhiProtocol("s", 2, standing=True),
        DEVICE,
        XiaozhiSettings(),
        Admission(),
        requests or SpeakRequests(),
        lambda _hello: None,
    )
    return connection, link


@on_virtual_time
async def test_an_idle_device_costs_a_look_now_and_then_and_gets_nothing() -> None:
    connection, link = connected()
    keeping = asyncio.create_task(connection.keep_alive())
    await asyncio.sleep(3_600)
    assert link.sent == []
    assert 100 < link.pings < 200  # it would stand still at a time that does not pass
    keeping.cancel()


@on_virtual_time
async def test_in_a_conversation_it_is_kept_from_giving_up() -> None:
    connection, link = connected()
    keeping = asyncio.create_task(connection.keep_alive())
    link.inbox.put(HELLO)
    assert await connection.receive() == DeviceAwake()
    await asyncio.sleep(200)
    assert link.kinds() == ["hello", "keepalive", "keepalive", "keepalive"]
    await connection.hang_up("done")
    assert await connection.receive() == DeviceAsleep()
    await asyncio.sleep(200)
    assert link.kinds()[-1] == "goodbye"
    keeping.cancel()


@on_virtual_time
async def test_who_does_not_know_the_request_is_not_asked_for_ever() -> None:
    requests = SpeakRequests()
    connection, link = connected(requests)
    for _ in range(MISSES + 3):
        assert not await connection.rouse("hello")
    assert link.kinds() == ["speak_request"] * MISSES
    newer = Device(DEVICE.id, firmware="2.5.0")
    assert requests.worth_asking(newer)
    requests.note(newer, answered=True)
    assert requests.worth_asking(newer)
    assert not await connection.rouse("hello"), "it may have learned it"
    assert len(link.kinds()) == MISSES + 1


@on_virtual_time
async def test_a_conversation_of_an_earlier_connection_is_ended_once() -> None:
    connection, link = connected()
    for _ in range(3):
        link.inbox.put('{"type":"listen","state":"stop","session_id":"older"}')
        await connection.receive()
    assert link.sent == [{"session_id": "older", "type": "goodbye"}]
    link.inbox.put('{"type":"goodbye","session_id":"older"}')  # it ends nothing here
    link.inbox.put(HELLO)
    assert await connection.receive() == DeviceAwake()
    link.inbox.put(HELLO)
    assert await connection.receive() == DeviceAwake(anew=True)
