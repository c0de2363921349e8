"""The room around a recording: what a microphone hears before, under and after the words.

Synthetic and studio recordings have digital silence between the words, which no device ever sends,
and begin and end with the words. Recognisers are made for rooms: PocketSphinx rejects three of four
utterances of eSpeak NG without a noise floor, and understands them with one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import numpy as np

from vixio.core.audio import LISTEN_RATE, pcm_bytes
from vixio.core.streams import closing

SILENCE_S = 0.4
"""Before and after the words; the server's own pre-roll is about as long."""

NOISE_DB = -60.0
"""Below full scale: a quiet room. 25 dB under quiet speech, so it covers none of it."""


class Room:
    """Adds the noise of one room, the same in every run."""

    def __init__(self) -> None:
        self._generator = np.random.default_rng(1)

    def add(self, pcm: bytes) -> bytes:
        """Return 16 kHz ``pcm`` (whole samples) with the noise under it."""
        samples = np.frombuffer(pcm, "<i2")
        noise = self._generator.standard_normal(samples.size, np.float32)
        loud = samples + noise * (32_768 * 10 ** (NOISE_DB / 20))
        return bytes(np.clip(loud, -32_768, 32_767).round().astype("<i2").tobytes())

    def silence(self) -> bytes:
        """Return SILENCE_S of it."""
        return self.add(bytes(pcm_bytes(SILENCE_S, LISTEN_RATE)))


async def in_a_room(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield a recording of 16 kHz PCM as a device would have heard it. Closes ``pieces``."""
    room = Room()
    yield room.silence()
    async with closing(pieces) as incoming:
        async for piece in incoming:
            yield room.add(piece)
    yield room.silence()
