"""A reply's audio on its way from the engine to the pacer: it is encoded in pieces."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from typing import Final

from vixio.core.pacer import Pacer
from vixio.core.transport import AudioEncoder, DeviceConnection

FIRST_PIECE_MS: Final = 120
"""PCM of a reply encoded on the event loop, in 0.4 ms: the first sound waits for no thread. It
plays while the next piece is encoded in one, which a busy machine may not run for a while."""

ENCODE_PIECE_MS: Final = 600
"""PCM encoded in one go in a thread: 2 ms of work, far more than the hop costs."""


class ReplyAudio:
    """The encoder of one reply. ``threads``: where it encodes; None: in the event loop's own."""

    def __init__(
        self, connection: DeviceConnection, pacer: Pacer, threads: Executor | None
    ) -> None:
        self._connection = connection
        self._pacer = pacer
        self._threads = threads
        self._encoder: AudioEncoder | None = None

    async def put(self, pcm: bytes, rate: int) -> None:
        """Encode and queue ``pcm`` at ``rate`` Hz; waits while the pacer has enough."""
        if self._encoder is None:  # not before: most replies of a user in a hurry have no sound
            self._encoder = self._connection.new_encoder()
        encoder = self._encoder
        start = 0
        while start < len(pcm):
            here = self._threads is None or not self._pacer.fed
            end = start + 2 * rate * (FIRST_PIECE_MS if here else ENCODE_PIECE_MS) // 1000
            piece = pcm[start:end]
            if here:
                packets = encoder.encode(piece, rate)
                await asyncio.sleep(0)
            else:
                loop = asyncio.get_running_loop()
                packets = await loop.run_in_executor(self._threads, encoder.encode, piece, rate)
            await self._pacer.put_packets(packets)
            start = end

    async def flush(self) -> None:
        """Queue what the encoder holds back: the tail of a sentence."""
        if self._encoder is not None:
            await self._pacer.put_packets(self._encoder.flush())

    def release(self) -> None:
        """Give the encoder back, whose C memory the cycle collector does not count.

        A thread that still encodes holds it until it has done.
        """
        self._encoder = None
