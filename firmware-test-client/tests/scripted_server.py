"""A WebSocket server that answers hello and then follows a test's script."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any

import numpy as np
import opuslib
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from firmware_test_client import DeviceConfig

OnJson = Callable[["Conversation", dict[str, Any]], Awaitable[None]]


def tone_packets(count: int, *, rate: int = 24_000, frame_ms: int = 60) -> list[bytes]:
    """Opus packets of a 440 Hz tone, which a test can tell from silence."""
    encoder = opuslib.Encoder(rate, 1, "audio")
    samples = rate * frame_ms // 1000
    time = np.arange(count * samples) / rate
    tone = (8000 * np.sin(2 * np.pi * 440 * time)).astype("<i2").tobytes()
    size = 2 * samples
    return [encoder.encode(tone[at : at + size], samples) for at in range(0, len(tone), size)]


def wrap(version: int, packet: bytes, timestamp: int = 0) -> bytes:
    """Binary framing, written independently of the package from the protocol's description."""
    if version == 2:
        return struct.pack(">HHIII", 2, 0, 0, timestamp, len(packet)) + packet
    if version == 3:
        return struct.pack(">BBH", 0, 0, len(packet)) + packet
    return packet


class Conversation:
    """One device's connection as the server sees it."""

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection
        headers = connection.request.headers if connection.request is not None else {}
        self.headers = {name.lower(): value for name, value in dict(headers).items()}
        self.version = int(self.headers.get("protocol-version", "1"))
        self.texts: list[dict[str, Any] | str] = []
        self.binaries: list[tuple[float, bytes]] = []
        self.close_code: int | None = None
        self.lost_by: BaseException | None = None
        self.ended = asyncio.Event()
        self.changed = asyncio.Condition()

    async def send(self, body: dict[str, Any]) -> None:
        await self.connection.send(json.dumps(body))

    async def audio(self, packets: list[bytes], *, pace_ms: float = 0, head: int = 0) -> None:
        """Send packets; after the first `head`, one per `pace_ms` by absolute deadlines."""
        loop = asyncio.get_running_loop()
        start = loop.time()
        for index, packet in enumerate(packets):
            await asyncio.sleep(max(0.0, start + (index - head) * pace_ms / 1000 - loop.time()))
            await self.connection.send(wrap(self.version, packet, index * 60))

    async def speak(self, packets: list[bytes], text: str = "Yes.", frame_ms: float = 60) -> None:
        """Send a reply as a correct server does: paced, and stopped when it is played out."""
        loop = asyncio.get_running_loop()
        await self.send({"type": "tts", "state": "start"})
        await self.send({"type": "tts", "state": "sentence_start", "text": text})
        start = loop.time()
        await self.audio(packets, pace_ms=frame_ms, head=4)
        await asyncio.sleep(max(0.0, start + (len(packets) * frame_ms + 30) / 1000 - loop.time()))
        await self.send({"type": "tts", "state": "stop"})

    async def mcp(self, payload: dict[str, Any]) -> None:
        await self.send({"type": "mcp", "payload": payload})

    def bodies(self, type_: str, state: str | None = None) -> list[dict[str, Any]]:
        """The messages of a type (and state) so far."""
        return [
            text
            for text in self.texts
            if isinstance(text, dict)
            and text.get("type") == type_
            and (state is None or text.get("state") == state)
        ]

    async def until(self, predicate: Callable[[], object], timeout: float = 30) -> None:
        """Wait until a received message fulfils `predicate`."""
        async with asyncio.timeout(timeout), self.changed:
            await self.changed.wait_for(predicate)

    async def request(self, id_: Any, method: str, params: Any = None) -> dict[str, Any]:  # noqa: ANN401  any JSON
        """Send a JSON-RPC request and wait for the answer of the same id."""
        payload = {"jsonrpc": "2.0", "id": id_, "method": method}
        await self.mcp(payload if params is None else payload | {"params": params})
        await self.until(lambda: self.answers(id_))
        return self.answers(id_)[0]

    def answers(self, id_: Any) -> list[dict[str, Any]]:  # noqa: ANN401  any JSON
        payloads = [body["payload"] for body in self.bodies("mcp")]
        return [payload for payload in payloads if payload.get("id") == id_]


class ScriptedServer:
    """Accepts devices. Set `hello` to None to stay silent, `on_json` to react."""

    def __init__(self) -> None:
        self.hello: dict[str, Any] | None = {
            "type": "hello",
            "transport": "websocket",
            "session_id": "s1",
            "audio_params": {
                "format": "opus",
                "sample_rate": 24000,
                "channels": 1,
                "frame_duration": 60,
            },
        }
        self.on_json: OnJson | None = None
        self.conversations: list[Conversation] = []
        self._accepted = asyncio.Condition()
        self._server: Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> ScriptedServer:
        self._server = await serve(
            self._handle, "127.0.0.1", 0, compression=None, ping_interval=None, close_timeout=1
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    @property
    def url(self) -> str:
        assert self._server is not None
        port = next(iter(self._server.sockets)).getsockname()[1]
        return f"ws://127.0.0.1:{port}/xiaozhi/v1/"

    def device(self, **options: Any) -> DeviceConfig:  # noqa: ANN401  any field
        """Return the configuration of a device for this server.

        By default it handles `tts start` at once, since the scripts send audio right after it.
        """
        return DeviceConfig(ws_url=self.url, **({"speaking_delay_ms": 0} | options))

    @property
    def talk(self) -> Conversation:
        """The newest connection."""
        return self.conversations[-1]

    async def accepted(self, count: int = 1, timeout: float = 30) -> Conversation:
        """Wait for the nth connection."""
        async with asyncio.timeout(timeout), self._accepted:
            await self._accepted.wait_for(lambda: len(self.conversations) >= count)
        return self.conversations[count - 1]

    async def _handle(self, connection: ServerConnection) -> None:
        conversation = Conversation(connection)
        async with self._accepted:
            self.conversations.append(conversation)
            self._accepted.notify_all()
        try:
            async for message in connection:
                await self._take(conversation, message)
        except ConnectionClosed as error:
            conversation.lost_by = error.__cause__  # a device may disconnect; tests check the cause
        conversation.close_code = connection.close_code
        conversation.ended.set()
        async with conversation.changed:
            conversation.changed.notify_all()

    async def _take(self, conversation: Conversation, message: str | bytes) -> None:
        body: dict[str, Any] | None = None
        if isinstance(message, bytes):
            conversation.binaries.append((asyncio.get_running_loop().time(), message))
        else:
            try:
                body = json.loads(message)
            except ValueError:
                conversation.texts.append(message)
            else:
                assert isinstance(body, dict)
                conversation.texts.append(body)
        async with conversation.changed:
            conversation.changed.notify_all()
        if body is None:
            return
        if body.get("type") == "hello" and self.hello is not None:
            await conversation.send(self.hello)
        elif self.on_json is not None:
            task = asyncio.ensure_future(self._react(conversation, body))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _react(self, conversation: Conversation, body: dict[str, Any]) -> None:
        assert self.on_json is not None
        try:
            await self.on_json(conversation, body)
        except ConnectionClosed:
            pass  # the device disconnected during the reaction
