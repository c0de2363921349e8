"""Real speech: eSpeak NG's, at the rate of the listening half."""

from __future__ import annotations

import numpy as np
import soxr

from vixio.core.audio import LISTEN_RATE
from vixio.providers.espeak.provider import EspeakSettings, EspeakTTSProvider


async def spoken(text: str, voice: str = "en-us") -> bytes:
    """Return ``text`` as 16 kHz PCM, with half a second of silence before and after it."""
    tts = EspeakTTSProvider(EspeakSettings(voice=voice))
    await tts.start()
    try:
        pcm = b"".join([chunk async for chunk in tts.synthesize(text)])
    finally:
        await tts.close()
    samples = np.frombuffer(pcm, dtype="<i2")
    resampled = soxr.resample(samples, tts.sample_rate, LISTEN_RATE).astype("<i2")
    pause = bytes(LISTEN_RATE)
    return pause + bytes(resampled.tobytes()) + pause
