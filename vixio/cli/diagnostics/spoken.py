"""Real speech: eSpeak NG's, which needs nothing; and any voice's as a device hears it."""

from __future__ import annotations

import numpy as np
import soxr

from vixio.cli.diagnostics.room import Room
from vixio.core.audio import LISTEN_RATE
from vixio.providers.espeak.provider import EspeakSettings, EspeakTTSProvider

PEAK_DB = -9.0
"""Below full scale: a speaker at arm's length."""

SILENT_PEAK = 100
"""What stays below it is no quiet voice but silence, dithered: it is not made loud."""


async def spoken(text: str, voice: str = "en-us", language: str = "") -> bytes:
    """Return ``text`` as 16 kHz PCM, with half a second of silence before and after it."""
    tts = EspeakTTSProvider(EspeakSettings(voice=voice))
    await tts.start()
    try:
        pcm = b"".join([chunk async for chunk in tts.synthesize(text, language=language)])
    finally:
        await tts.close()
    pause = bytes(LISTEN_RATE)
    return pause + resampled(pcm, tts.sample_rate) + pause


def resampled(pcm: bytes, sample_rate: int) -> bytes:
    """Return ``pcm`` at 16 kHz."""
    samples = np.frombuffer(pcm, dtype="<i2")
    if sample_rate == LISTEN_RATE or not samples.size:
        return pcm
    return bytes(soxr.resample(samples, sample_rate, LISTEN_RATE).astype("<i2").tobytes())


def as_heard(pcm: bytes) -> bytes:
    """Return 16 kHz ``pcm`` at the loudness of a user at a device in a quiet room."""
    samples = np.frombuffer(pcm, dtype="<i2").astype(np.float32)
    peak = float(np.abs(samples).max(initial=0.0))
    if peak > SILENT_PEAK:
        samples *= 32_768 * 10 ** (PEAK_DB / 20) / peak
    room = Room()
    return room.silence() + room.add(samples.astype("<i2").tobytes()) + room.silence()
