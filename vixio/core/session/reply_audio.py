"""A reply's audio on its way from the engine to the pacer: it is encoded in pieces."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor
from typing import Final

from vixio.core.audio import pcm_bytes, pcm_seconds
from vixio.core.chunk import AudioOut, Chunk, Sentence
from vixio.core.pacer import Pacer
from vixio.core.transport import AudioEncoder, DeviceConnection

LOOP_PIECE_S: Final = 0.12
"""PCM encoded on the event loop in one go, in 0.1 ms."""

THREAD_PIECE_S: Final = 0.6
"""PCM encoded in a thread in one go: a hop costs about as much as encoding a third of it."""

AHEAD_MS: Final = 600
"""Unsent audio from which on PCM is gathered for a thread. Below it everything is encoded at once,
on the event loop: the first sound waits for no thread, which a busy machine may not run for a
while. What is held back when the pacer runs low is encoded then: the next PCM may be far off,
behind a tool's call or a slow model."""


class ReplyAudio:
    """The encoder of one reply. ``threads``: where it encodes; None: in the event loop's own."""

    def __init__(
        self, connection: DeviceConnection, pacer: Pacer, threads: Executor | None
    ) -> None:
        self._connection = connection
        self._pacer = pacer
        self._threads = threads
        self._encoder: AudioEncoder | None = None
        self._held = b""
        self._rate = 0
        self._encoding = False
        pacer.more = self._more

    async def put(self, pcm: bytes, rate: int) -> None:
        """Encode and queue ``pcm`` at ``rate`` Hz; waits while the pacer has enough."""
        if rate != self._rate:
            await self._encode_rest()
            self._rate = rate
        self._held += pcm
        await self._encode_pieces()

    async def flush(self) -> None:
        """Queue all that is held back: the tail of a sentence."""
        await self._encode_rest()
        if self._encoder is not None:
            await self._pacer.put_packets(self._encoder.flush())

    def release(self) -> None:
        """Give the encoder back, whose C memory the cycle collector does not count.

        A thread that still encodes holds it until it has done.
        """
        self._encoder = None
        self._held = b""

    async def _encode_pieces(self) -> None:
        """Encode what is held, but for a part that is too short for a thread and has time."""
        for_thread = pcm_bytes(THREAD_PIECE_S, self._rate)
        while self._held:
            if self._threads is None or self._pacer.unsent_ms < AHEAD_MS:
                await self._encode(pcm_bytes(LOOP_PIECE_S, self._rate), None)
            elif len(self._held) >= for_thread:
                await self._encode(for_thread, self._threads)
            else:
                return

    async def _encode_rest(self) -> None:
        await self._encode_pieces()
        if self._held:
            await self._encode(len(self._held), self._threads)

    async def _encode(self, size: int, threads: Executor | None) -> None:
        """Encode ``size`` bytes; without ``threads`` on the event loop, which then moves on."""
        if self._encoder is None:  # not before: most replies of a user in a hurry have no sound
            self._encoder = self._connection.new_encoder()
        encoder, piece = self._encoder, self._take(size)
        self._encoding = True  # stays so if this is cancelled: a thread may still encode
        if threads is None:
            packets = encoder.encode(piece, self._rate)
            await asyncio.sleep(0)
        else:
            loop = asyncio.get_running_loop()
            packets = await loop.run_in_executor(threads, encoder.encode, piece, self._rate)
        await self._pacer.put_packets(packets)
        self._encoding = False

    def _more(self) -> list[bytes]:
        """Encode a piece of what is held back, for the pacer that runs low.

        Nothing while packets are on their way to it already: these come first.
        """
        if self._encoding or self._encoder is None or not self._held:
            return []
        return self._encoder.encode(self._take(pcm_bytes(LOOP_PIECE_S, self._rate)), self._rate)

    def _take(self, size: int) -> bytes:
        piece, self._held = self._held[:size], self._held[size:]
        return piece


class ReplyLength:
    """The speech of one reply, in seconds. ``limit`` 0: none.

    A reply ends between two sentences, so it is longer than the limit by a sentence at most.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._spoken = 0.0

    def reached_before(self, chunk: Chunk) -> bool:
        """Take the reply's next chunk; return whether it belongs to the reply no more."""
        if isinstance(chunk, AudioOut):
            self._spoken += pcm_seconds(chunk.pcm, chunk.sample_rate)
        return isinstance(chunk, Sentence) and 0 < self._limit <= self._spoken
