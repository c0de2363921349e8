"""A stand-in for the speech service behind Edge's "read aloud", with its real framing.

One WebSocket a text: ``speech.config`` and ``ssml`` come in, each a text frame of header lines, an
empty line and a body; ``turn.start``, ``response``, audio, ``audio.metadata`` and ``turn.end`` go
out. Audio is MP3 in binary frames that begin with the length of their headers in two bytes. The
client under test is the real one; only the address it knows is changed.
"""

from __future__ import annotations

import asyncio
import http
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Literal
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import edge_tts.communicate
import pytest
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
from websockets.http11 import Request, Response

from tests.support.sounds import MP3_24K_MONO

FRAME: Final = 144
"""Bytes of an MP3 frame of 24 ms at 24 kHz and 48 kbit/s."""

CHAR_FRAMES: Final = 2
"""Frames for each character of a text: 48 ms."""

PIECE: Final = 720
"""Bytes of MP3 in one message, as the service sends them."""

MP3: Final = MP3_24K_MONO[: len(MP3_24K_MONO) // FRAME * FRAME]

DEAF_SECONDS: Final = 1.0

Stage = Literal["start", "middle", "end"]
"""Before the first audio, behind some of it, in the place of ``turn.end``."""


@dataclass
class Spoken:
    """What a client asked for."""

    text: str
    voice: str
    prosody: dict[str, str]
    query: dict[str, list[str]]
    config: dict[str, object]


@dataclass
class Fault:
    """``status``: of the handshake. ``stall``, ``cut``: there nothing more is sent, or the
    connection ends. ``send``: is sent there instead of what follows. ``silent``: no audio."""

    status: int = 0
    stall: Stage | None = None
    cut: Stage | None = None
    send: str | bytes | None = None
    silent: bool = False
    endless: bool = False
    deaf: bool = False
    """It does not answer the client's goodbye."""


class CutError(Exception):
    """The connection has been ended by a fault."""


@dataclass
class Service:
    """The running stand-in."""

    spoken: list[Spoken] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    """Each connection takes the next one."""
    handshakes: int = 0
    talking: int = 0
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    """A client has gone before its text was spoken."""
    held: asyncio.Event = field(default_factory=asyncio.Event)
    """A stall was reached."""
    server: Server | None = None

    @property
    def open_connections(self) -> int:
        return len(self.server.connections) if self.server is not None else 0

    @property
    def url(self) -> str:
        assert self.server is not None
        port = next(iter(self.server.sockets)).getsockname()[1]
        return f"ws://127.0.0.1:{port}/consumer/speech/synthesize/readaloud/edge/v1?Token=T"

    def check(self, socket: ServerConnection, request: Request) -> Response | None:
        self.handshakes += 1
        query = parse_qs(urlsplit(request.path).query)
        assert re.fullmatch(r"[0-9A-F]{16}-[0-9A-F]{64}", query["Sec-MS-GEC"][0])
        assert re.fullmatch(r"\d-\d+(\.\d+){3}", query["Sec-MS-GEC-Version"][0])
        assert re.fullmatch(r"[0-9a-f]{32}", query["ConnectionId"][0])
        assert request.headers["Origin"].startswith("chrome-extension://")
        if self.faults and self.faults[0].status:
            status = http.HTTPStatus(self.faults.pop(0).status)
            return socket.respond(status, "no\n")  # with a Date, by which the client sets its clock
        return None

    async def serve(self, socket: ServerConnection) -> None:
        fault = self.faults.pop(0) if self.faults else Fault()
        self.talking += 1
        try:
            await self._speak(socket, fault)
        except (ConnectionClosed, CutError) as error:
            if isinstance(error, ConnectionClosed):
                self.gone.set()
        finally:
            self.talking -= 1

    async def _speak(self, socket: ServerConnection, fault: Fault) -> None:
        assert socket.request is not None
        config_head, config = _parse(await socket.recv())
        assert config_head["Path"] == "speech.config"
        ssml_head, ssml = _parse(await socket.recv())
        assert ssml_head["Path"] == "ssml"
        spoken = _read(ssml, socket.request.path, config)
        self.spoken.append(spoken)
        identity = ssml_head["X-RequestId"]
        await socket.send(_text(identity, "turn.start", {"context": {"serviceTag": "x"}}))
        await socket.send(_text(identity, "response", {"context": {}, "audio": {"type": "inline"}}))
        await self._stage("start", fault, socket)
        if not fault.silent:
            await self._audio(identity, spoken.text, fault, socket)
            # The end of the audio is a message without a type and without data.
            await socket.send(_binary(identity, "", b""))
        await socket.send(_text(identity, "audio.metadata", _boundary(spoken.text)))
        await self._stage("end", fault, socket)
        if fault.deaf:
            socket.transport.pause_reading()
        await socket.send(_text(identity, "turn.end", {}))
        if fault.deaf:
            await asyncio.sleep(DEAF_SECONDS)
            socket.transport.resume_reading()
        await socket.wait_closed()

    async def _audio(
        self, identity: str, text: str, fault: Fault, socket: ServerConnection
    ) -> None:
        size = len(text) * CHAR_FRAMES * FRAME
        data = (MP3 * (size // len(MP3) + 1))[:size]
        middle = size // 2 // PIECE * PIECE
        for start in range(0, size, PIECE):
            if start == middle:
                await self._stage("middle", fault, socket)
            await socket.send(_binary(identity, "audio/mpeg", data[start : start + PIECE]))
        while fault.endless:
            await socket.send(_binary(identity, "audio/mpeg", MP3))

    async def _stage(self, stage: Stage, fault: Fault, socket: ServerConnection) -> None:
        if fault.stall == stage:
            self.held.set()
            await socket.wait_closed()
            self.gone.set()
            raise CutError
        if fault.cut == stage:
            socket.transport.abort()
            raise CutError
        if fault.send is not None and stage == "start":
            await socket.send(fault.send)


def _parse(message: str | bytes) -> tuple[dict[str, str], str]:
    assert isinstance(message, str)
    head, _, body = message.partition("\r\n\r\n")
    return dict(line.split(":", 1) for line in head.split("\r\n")), body


def _read(ssml: str, path: str, config: str) -> Spoken:
    speak = ElementTree.fromstring(ssml)  # noqa: S314 - what the client under test has made
    voice = speak[0]
    prosody = voice[0]
    return Spoken(
        "".join(prosody.itertext()),
        voice.attrib["name"],
        dict(prosody.attrib),
        parse_qs(urlsplit(path).query),
        json.loads(config),
    )


def _text(identity: str, path: str, body: object) -> str:
    head = f"X-RequestId:{identity}\r\nContent-Type:application/json; charset=utf-8\r\nPath:{path}"
    return f"{head}\r\n\r\n{json.dumps(body)}"


def _binary(identity: str, media: str, data: bytes) -> bytes:
    kind = f"Content-Type:{media}\r\n" if media else ""
    head = f"X-RequestId:{identity}\r\n{kind}X-StreamId:{identity}\r\nPath:audio\r\n".encode()
    return len(head).to_bytes(2, "big") + head + data


def _boundary(text: str) -> object:
    told = {"Text": text, "Length": len(text), "BoundaryType": "SentenceBoundary"}
    ticks = len(text) * CHAR_FRAMES * 240_000
    data = {"Offset": 1_000_000, "Duration": ticks, "text": told}
    return {"Metadata": [{"Type": "SentenceBoundary", "Data": data}]}


@asynccontextmanager
async def edge_server(*faults: Fault) -> AsyncIterator[Service]:
    """Run the service on a free loopback port, and give the client its address."""
    service = Service(faults=list(faults))
    server = await serve(
        service.serve,
        "127.0.0.1",
        0,
        process_request=service.check,
        # As the client offers it, but MP3 becomes no smaller by it: nothing is compressed.
        compression=None,
        extensions=[ServerPerMessageDeflateFactory(compress_settings={"level": 0})],
        ping_interval=None,
        close_timeout=1,
        max_queue=None,
    )
    service.server = server
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edge_tts.communicate, "WSS_URL", service.url)
        try:
            yield service
        finally:
            server.close()
            await server.wait_closed()
