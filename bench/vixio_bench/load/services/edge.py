"""The speech service behind Edge's "read aloud", as the package ``edge-tts`` speaks with it.

One WebSocket a text. ``speech.config`` and ``ssml`` come in; ``turn.start``, ``response``, audio,
``audio.metadata`` and ``turn.end`` go out. Text frames are header lines, an empty line and a body;
the audio is MP3 in binary frames that begin with the length of their headers, in two bytes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from time import perf_counter
from typing import Final

from websockets.asyncio.server import ServerConnection

from vixio_bench.load.services.scripted import length_ms
from vixio_bench.load.services.websocket import WebSocketService

MP3: Final = Path(__file__).with_name("speech-24k-mono.mp3")
"""Three seconds of eSpeak NG's speech (``make_speech``), encoded once with LAME in the format that
edge-tts asks for, 48 kbit/s at 24 kHz: no dependency encodes MP3. Its first frame refers to none
before it (``main_data_begin`` is 0), so that the sound can be repeated."""

FRAME_BYTES: Final = 144
FRAME_MS: Final = 24
PIECE: Final = 5 * FRAME_BYTES
"""Bytes of MP3 in one message, as the service sends them."""

_TICKS: Final = 10_000
"""In a millisecond."""
_ID: Final = re.compile(r"X-RequestId:(\w+)")


def redirect(address: str) -> None:
    """Have edge-tts of this process call ``address``: it has no option for that."""
    import edge_tts.communicate

    edge_tts.communicate.WSS_URL = address  # type: ignore[attr-defined]  # not a public name


class EdgeService(WebSocketService):
    """Says as much as a text asks for."""

    path = "/consumer/speech/synthesize/readaloud/edge/v1?TrustedClientToken=bench"

    def __init__(self) -> None:
        super().__init__()
        self._speech = MP3.read_bytes()

    async def converse(self, socket: ServerConnection) -> None:
        """Speak one text, then wait for the client to close the connection, as the service does."""
        await socket.recv()  # speech.config
        ssml = str(await socket.recv())
        began = perf_counter()
        found = _ID.search(ssml)
        identity = found[1] if found else ""
        milliseconds = length_ms(ssml)
        await socket.send(_text(identity, "turn.start", {"context": {"serviceTag": "bench"}}))
        await socket.send(_text(identity, "response", {"audio": {"type": "inline"}}))
        speech = self._spoken(milliseconds)
        for at in range(0, len(speech), PIECE):
            await socket.send(_audio(identity, "audio/mpeg", speech[at : at + PIECE]))
        await socket.send(_audio(identity, "", b""))  # the end of the audio has no type
        await socket.send(_text(identity, "audio.metadata", _boundary(milliseconds)))
        await socket.send(_text(identity, "turn.end", {}))
        self.answered_ms.append((perf_counter() - began) * 1000)
        await socket.wait_closed()

    def _spoken(self, milliseconds: int) -> bytes:
        size = FRAME_BYTES * max(1, round(milliseconds / FRAME_MS))
        return (self._speech * (size // len(self._speech) + 1))[:size]


def _text(identity: str, path: str, body: object) -> str:
    head = f"X-RequestId:{identity}\r\nContent-Type:application/json; charset=utf-8\r\nPath:{path}"
    return f"{head}\r\n\r\n{json.dumps(body)}"


def _audio(identity: str, media: str, data: bytes) -> bytes:
    kind = f"Content-Type:{media}\r\n" if media else ""
    head = f"X-RequestId:{identity}\r\n{kind}X-StreamId:{identity}\r\nPath:audio\r\n".encode()
    return len(head).to_bytes(2, "big") + head + data


def _boundary(milliseconds: int) -> object:
    sentence = {"Text": "bench", "Length": 5, "BoundaryType": "SentenceBoundary"}
    data = {"Offset": 0, "Duration": milliseconds * _TICKS, "text": sentence}
    return {"Metadata": [{"Type": "SentenceBoundary", "Data": data}]}
