"""Helpers of the transport's tests: a running server, a client that speaks to it, Opus to send."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
from websockets.asyncio.client import ClientConnection, connect

from vixio.audio.codec import OpusEncoder
from vixio.core.audio import AudioFormat
from vixio.core.chunk import Chunk
from vixio.core.errors import ConnectionClosed
from vixio.core.local_cluster import LocalLeases
from vixio.core.session.lease_holder import LeaseHolder
from vixio.core.transport import DeviceConnection, SessionHandler
from vixio.transports.admission.admission import Admission, AdmissionSettings
from vixio.transports.xiaozhi.settings import XiaozhiSettings
from vixio.transports.xiaozhi.transport import XiaozhiTransport

BOUND_S = 30.0
"""Nothing that a test waits for takes so long unless it never comes."""

HELLO: dict[str, Any] = {
    "type": "hello",
    "version": 1,
    "features": {"aec": False},
    "transport": "websocket",
    "audio_params": {"format": "opus", "sample_rate": 16000, "channels": 1, "frame_duration": 60},
}


def tone(rate: int, seconds: float, frequency: float = 440.0, level: float = 0.3) -> bytes:
    """Return a sine as 16-bit PCM; ``level`` of full scale."""
    t = np.arange(round(rate * seconds)) / rate
    return (np.sin(2 * np.pi * frequency * t) * level * 32767).astype("<i2").tobytes()


def rms(pcm: bytes) -> float:
    """Return the level of PCM, 1.0 being full scale."""
    samples = np.frombuffer(pcm, "<i2").astype(float) / 32768
    return float(np.sqrt(np.mean(samples**2))) if len(samples) else 0.0


def opus_packets(seconds: float = 0.3, rate: int = 16_000, frame_ms: int = 60) -> list[bytes]:
    """Return a tone as a device would send it."""
    encoder = OpusEncoder(AudioFormat(rate, frame_ms), application="voip")
    return encoder.encode(tone(rate, seconds), rate) + encoder.flush()


class Session:
    """A handler that keeps every chunk of its device and waits for the end."""

    def __init__(self, connection: DeviceConnection) -> None:
        self.connection = connection
        self.chunks: asyncio.Queue[Chunk] = asyncio.Queue()
        self.ended = asyncio.Event()

    async def run(self) -> None:
        try:
            while True:
                self.chunks.put_nowait(await self.connection.receive())
        except ConnectionClosed:
            pass
        finally:
            self.ended.set()

    async def next(self) -> Chunk:
        return await asyncio.wait_for(self.chunks.get(), BOUND_S)

    async def wait_ended(self) -> None:
        await asyncio.wait_for(self.ended.wait(), BOUND_S)


class Server:
    """A transport on a free loopback port, and the sessions that it opened."""

    def __init__(self, transport: XiaozhiTransport, settings: XiaozhiSettings) -> None:
        self.transport = transport
        self.settings = settings
        self.admission = transport.admission
        self.counters = transport.admission.counters
        self.sessions: asyncio.Queue[Session] = asyncio.Queue()
        self._leases = LocalLeases()

    async def handle(self, connection: DeviceConnection) -> None:
        """Serve a device as the session host does: a newer connection replaces the older."""
        session = Session(connection)
        holder = LeaseHolder(connection)
        await holder.acquire(self._leases)
        self.sessions.put_nowait(session)
        try:
            await session.run()
        finally:
            await holder.end()

    async def session(self) -> Session:
        return await asyncio.wait_for(self.sessions.get(), BOUND_S)

    def url(self, query: str = "", path: str = "/xiaozhi/v1/") -> str:
        return f"ws://127.0.0.1:{self.transport.port}{path}{query}"

    @contextlib.asynccontextmanager
    async def client(
        self, device_id: str = "aa:bb", hello: dict[str, Any] | None = HELLO, **headers: str
    ) -> AsyncIterator[ClientConnection]:
        """Connect; with ``hello`` also greet and take the server's hello."""
        all_headers = {"Device-Id": device_id, "Client-Id": "client"}
        all_headers |= {name.replace("_", "-"): value for name, value in headers.items()}
        async with connect(
            self.url(), additional_headers=all_headers, compression=None, close_timeout=1
        ) as client:
            if hello is not None:
                await client.send(json.dumps(hello))
                answer = await receive_json(client)
                assert answer["type"] == "hello"
            yield client


@contextlib.asynccontextmanager
async def running(
    handler: SessionHandler | None = None,
    **settings: Any,  # noqa: ANN401  the settings' own types
) -> AsyncIterator[Server]:
    """Run a transport with ``settings``, its own and those of its admission, and stop it."""
    shared = {field.name for field in dataclasses.fields(AdmissionSettings)}
    admission = Admission(
        AdmissionSettings(**{key: value for key, value in settings.items() if key in shared})
    )
    own = {key: value for key, value in settings.items() if key not in shared}
    whole = XiaozhiSettings(**{"host": "127.0.0.1", "port": 0, **own})
    transport = XiaozhiTransport(whole, admission)
    server = Server(transport, whole)
    await transport.start(handler if handler is not None else server.handle)
    try:
        yield server
    finally:
        await asyncio.wait_for(transport.stop(), BOUND_S)


async def receive_json(client: ClientConnection) -> dict[str, Any]:
    data = await asyncio.wait_for(client.recv(), BOUND_S)
    assert isinstance(data, str)
    message = json.loads(data)
    assert isinstance(message, dict)
    return message
