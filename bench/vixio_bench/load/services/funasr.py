"""FunASR's runtime server, in its mode ``2pass``.

The frames are those of ``runtime/docs/websocket_protocol.md``, the end is that of the Python server
(``funasr_wss_server.py``): it acknowledges ``is_end``, so the client need not learn from a pause
which result is the last.
"""

from __future__ import annotations

import json
from time import perf_counter
from typing import Any, Final

from websockets.asyncio.server import ServerConnection
from websockets.typing import Subprotocol

from vixio.core.audio import LISTEN_RATE, pcm_bytes
from vixio_bench.load.services.scripted import heard
from vixio_bench.load.services.websocket import WebSocketService

PARTIAL: Final = "device "
"""A chunk's words while the user speaks; those of the second pass replace them."""
_UNIT_S: Final = 0.06
"""Of ``chunk_size``."""

Json = dict[str, Any]


class FunASRService(WebSocketService):
    """Hears ``device N``. Connections are kept open for one utterance after another."""

    subprotocols = (Subprotocol("binary"),)

    async def converse(self, socket: ServerConnection) -> None:
        """Answer each chunk of an utterance, and its end with the words of the whole."""
        utterance = _Utterance({"chunk_size": [5, 10, 5]})
        async for frame in socket:
            if isinstance(frame, bytes):
                for _ in range(utterance.feed(frame)):
                    await socket.send(utterance.result("2pass-online", PARTIAL, is_final=False))
                continue
            message = json.loads(frame)
            if message["is_speaking"]:
                utterance = _Utterance(message)
                continue
            began = perf_counter()
            await socket.send(utterance.result("2pass-offline", utterance.words(), is_final=True))
            await socket.send(utterance.result("2pass", None, is_final=True, is_end=True))
            self.answered_ms.append((perf_counter() - began) * 1000)


class _Utterance:
    def __init__(self, start: Json) -> None:
        self._name = start.get("wav_name", "")
        self._chunk = pcm_bytes(start["chunk_size"][1] * _UNIT_S, LISTEN_RATE)
        self._pcm = bytearray()

    def feed(self, pcm: bytes) -> int:
        """Take audio; return the number of chunks that it completes."""
        before = len(self._pcm) // self._chunk
        self._pcm += pcm
        return len(self._pcm) // self._chunk - before

    def words(self) -> str:
        """Return what the whole utterance says."""
        return heard(bytes(self._pcm))

    def result(self, mode: str, text: str | None, **flags: bool) -> str:
        """Return a frame of the server; the acknowledgement has no text."""
        words = {} if text is None else {"text": text}
        return json.dumps({"mode": mode, **words, "wav_name": self._name, **flags})
