"""A server by MQTT and UDP that follows a test's script, written from the wire's description.

It knows the packets that it needs, and delivers without a subscription, as the firmware expects.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import struct
from collections.abc import Callable
from types import TracebackType
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from firmware_test_client import DeviceConfig, Mqtt

KEY = bytes(range(16))
SSRC = bytes.fromhex("a1b2c3d4")
NONCE = b"\x01\x00\x00\x00" + SSRC + bytes(8)


def crypt(header: bytes, payload: bytes, key: bytes = KEY) -> bytes:
    """AES-128-CTR with the datagram's header as the first counter block."""
    return Cipher(algorithms.AES(key), modes.CTR(header)).encryptor().update(payload)


class Connection(asyncio.Protocol):
    """One device's TCP connection."""

    def __init__(self, server: MqttServer) -> None:
        self._server = server
        self._buffer = b""
        self.transport: asyncio.Transport | None = None
        self.packets: list[tuple[int, int, bytes]] = []  # type, flags, body; in their order
        self.texts: list[dict[str, Any] | str] = []  # what was published
        self.topics: list[str] = []
        self.connect: dict[str, Any] = {}
        self.lost: BaseException | None = None
        self.ended = asyncio.Event()

    # Sending

    def publish(self, body: dict[str, Any] | bytes, *, qos: int = 0) -> None:
        payload = body if isinstance(body, bytes) else json.dumps(body).encode()
        topic = b"vixio/down/x"
        number = b"\x00\x07" if qos else b""
        rest = struct.pack(">H", len(topic)) + topic + number + payload
        self.write(0x30 | qos << 1, rest)

    def write(self, head: int, rest: bytes) -> None:
        length, digits = len(rest), b""
        while True:
            length, digit = divmod(length, 128)
            digits += bytes([digit | (128 if length else 0)])
            if not length:
                break
        self.raw(bytes([head]) + digits + rest)

    def raw(self, data: bytes) -> None:
        assert self.transport is not None
        self.transport.write(data)

    def close(self) -> None:
        assert self.transport is not None
        self.transport.close()

    # What has come

    def bodies(self, type_: str, state: str | None = None) -> list[dict[str, Any]]:
        return [
            text
            for text in self.texts
            if isinstance(text, dict)
            and text.get("type") == type_
            and (state is None or text.get("state") == state)
        ]

    def count(self, packet: int) -> int:
        return sum(type_ == packet for type_, _, _ in self.packets)

    async def until(self, predicate: Callable[[], object], timeout: float = 30) -> None:
        await self._server.until(predicate, timeout)

    async def request(self, id_: int, method: str, params: Any = None) -> dict[str, Any]:  # noqa: ANN401  any JSON
        payload = {"jsonrpc": "2.0", "id": id_, "method": method}
        more = {} if params is None else {"params": params}
        self.publish({"type": "mcp", "payload": payload | more})

        def answers() -> list[dict[str, Any]]:
            payloads = [body["payload"] for body in self.bodies("mcp")]
            return [payload for payload in payloads if payload.get("id") == id_]

        await self.until(answers)
        return answers()[0]

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._server.transports.add(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = exc
        self.ended.set()
        self._server.notify()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) > 1:
            length, shift, at = 0, 0, 1
            while at < len(self._buffer):
                length |= (self._buffer[at] & 127) << shift
                shift, at = shift + 7, at + 1
                if not self._buffer[at - 1] & 128:
                    break
            else:
                return
            if len(self._buffer) < at + length:
                return
            head, body = self._buffer[0], self._buffer[at : at + length]
            self._buffer = self._buffer[at + length :]
            self._packet(head >> 4, head & 15, body)
        self._server.notify()

    def _packet(self, type_: int, flags: int, body: bytes) -> None:
        self.packets.append((type_, flags, body))
        if type_ == 1:
            self._connected(body)
        elif type_ == 3:
            size = int.from_bytes(body[:2], "big")
            self.topics.append(body[2 : 2 + size].decode())
            self._published(body[2 + size + (2 if flags & 6 else 0) :])
        elif type_ == 12 and self._server.answers_pings:
            self.write(0xD0, b"")

    def _connected(self, body: bytes) -> None:
        fields, at = [], 10
        while at < len(body):
            size = int.from_bytes(body[at : at + 2], "big")
            fields.append(body[at + 2 : at + 2 + size].decode())
            at += 2 + size
        self.connect = {
            "protocol": body[:7],
            "flags": body[7],
            "keepalive": int.from_bytes(body[8:10], "big"),
            "fields": fields,
        }
        server = self._server
        server.connections.append(self)
        code = server.refusals.pop(0) if server.refusals else 0
        self.write(0x20, bytes([0, code]))

    def _published(self, payload: bytes) -> None:
        try:
            body = json.loads(payload)
        except ValueError:
            self.texts.append(payload.decode(errors="replace"))
            return
        self.texts.append(body)
        if body.get("type") == "hello" and self._server.hello is not None:
            self._server.new_conversation()
            self.publish(self._server.hello)


class MqttServer(asyncio.DatagramProtocol):
    """Accepts devices. Set `hello` to None to stay silent."""

    def __init__(self) -> None:
        self.connections: list[Connection] = []  # that have sent CONNECT
        self.transports: set[asyncio.Transport] = set()
        self.refusals: list[int] = []  # codes of the next CONNACKs
        self.answers_pings = True
        self.hello: dict[str, Any] | None = None
        self.datagrams: list[tuple[bytes, tuple[str, int]]] = []
        self.sent = 0  # sequence of the newest audio packet of this conversation
        self._waiters: set[tuple[Callable[[], object], asyncio.Future[None]]] = set()
        self._udp: asyncio.DatagramTransport | None = None
        self._server: asyncio.Server | None = None
        self._port = 0

    async def __aenter__(self) -> MqttServer:
        loop = asyncio.get_running_loop()
        await self.listen()
        self._udp, _ = await loop.create_datagram_endpoint(
            lambda: self, local_addr=("127.0.0.1", 0)
        )
        self.hello = {
            "type": "hello",
            "transport": "udp",
            "session_id": "s1",
            "audio_params": {"sample_rate": 24000, "frame_duration": 60},
            "udp": {
                "server": "127.0.0.1",
                "port": self._udp.get_extra_info("sockname")[1],
                "key": KEY.hex(),
                "nonce": NONCE.hex(),
            },
        }
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop_listening()
        for transport in self.transports:
            transport.abort()
        if self._udp is not None:
            self._udp.close()

    async def listen(self) -> None:
        """Listen again on the same port as before."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self), "127.0.0.1", self._port, reuse_address=True
        )
        self._port = self._server.sockets[0].getsockname()[1]

    async def stop_listening(self) -> None:
        if self._server is not None:
            self._server.close()

    @property
    def endpoint(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def settings(self) -> dict[str, Any]:
        """The `mqtt` section of an OTA answer."""
        return {
            "endpoint": self.endpoint,
            "client_id": "02:00:00:00:00:01",
            "username": "uuid",
            "password": "token",
            "keepalive": 120,
            "publish_topic": "vixio/up/x",
            "subscribe_topic": "null",
        }

    def device(self, **options: Any) -> DeviceConfig:  # noqa: ANN401  any field
        """A device without OTA that handles `tts start` at once and never waits long."""
        settings = {
            key: value for key, value in self.settings.items() if key != "subscribe_topic"
        } | options.pop("settings", {})
        quick = {"speaking_delay_ms": 0, "pause_scale": 0.001}
        return DeviceConfig(mqtt=Mqtt(**settings), **(quick | options))

    @property
    def link(self) -> Connection:
        """The newest connection."""
        return self.connections[-1]

    def new_conversation(self) -> None:
        self.sent = 0
        self.datagrams.clear()

    def notify(self) -> None:
        for predicate, future in list(self._waiters):
            if not future.done() and predicate():
                future.set_result(None)

    async def until(self, predicate: Callable[[], object], timeout: float = 30) -> None:
        """Wait until what has come fulfils `predicate`."""
        if predicate():
            return
        waiter = (predicate, asyncio.get_running_loop().create_future())
        self._waiters.add(waiter)
        try:
            async with asyncio.timeout(timeout):
                await waiter[1]
        finally:
            self._waiters.discard(waiter)

    async def accepted(self, count: int = 1) -> Connection:
        await self.until(lambda: len(self.connections) >= count)
        return self.connections[count - 1]

    # Audio

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.datagrams.append((data, addr))
        self.notify()

    def heard(self) -> list[tuple[tuple[int, ...], bytes]]:
        """Every datagram's header (type, flags, length, ssrc, timestamp, sequence) and payload."""
        return [
            (struct.unpack(">BBHIII", data[:16]), crypt(data[:16], data[16:]))
            for data, _ in self.datagrams
        ]

    def pack(self, payload: bytes, *, sequence: int | None = None, timestamp: int = 0) -> bytes:
        self.sent = self.sent + 1 if sequence is None else sequence
        header = struct.pack(">BBH4sII", 1, 1, len(payload), SSRC, timestamp, self.sent)
        return header + crypt(header, payload)

    def send(self, datagram: bytes) -> None:
        """To the address from which the newest datagram came."""
        assert self._udp is not None
        if datagram:
            self._udp.sendto(datagram, self.datagrams[-1][1])
            return
        number = os.dup(self._udp.get_extra_info("socket").fileno())  # asyncio sends no empty ones
        with contextlib.closing(socket.socket(fileno=number)) as same:
            same.sendto(datagram, self.datagrams[-1][1])

    async def audio(self, packets: list[bytes], *, pace_ms: float = 0) -> None:
        await self.until(lambda: self.datagrams)
        for index, packet in enumerate(packets):
            self.send(self.pack(packet, timestamp=60 * (index + 1)))
            await asyncio.sleep(pace_ms / 1000)

    async def speak(self, packets: list[bytes], text: str = "Yes.") -> None:
        """A reply as a correct server sends it, faster than it is played.

        It begins once the device's address is known: `tts start` would switch the microphone off,
        and then no packet would come that states it.
        """
        await self.until(lambda: self.datagrams)
        link = self.link
        link.publish({"type": "tts", "state": "start"})
        link.publish({"type": "tts", "state": "sentence_start", "text": text})
        await asyncio.sleep(0.05)  # two sockets: the start has to overtake the audio
        await self.audio(packets)
        await asyncio.sleep(len(packets) * 0.06)
        link.publish({"type": "tts", "state": "stop"})


def free_port() -> int:
    """A UDP port on which nobody listens."""
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def new_nonce() -> bytes:
    """Another conversation's nonce."""
    return b"\x01\x00\x00\x00" + os.urandom(4) + bytes(8)
