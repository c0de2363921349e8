"""WAV in both directions: an uploaded file becomes samples, and a stream of PCM a file."""

from __future__ import annotations

import io
import struct
import wave

import numpy as np
import numpy.typing as npt

from speech_service.errors import Refusal

Samples = npt.NDArray[np.float32]
"""From -1 to 1, one channel."""

UNKNOWN_SIZE = 0xFFFFFFFF
"""In the head of a file whose length is not known when it begins."""


def read_wav(data: bytes, max_seconds: float) -> tuple[int, Samples]:
    """Return rate and samples of a WAV file of 16-bit PCM; channels are averaged.

    Raises Refusal.
    """
    if not data:
        raise Refusal(400, "the file is empty", param="file")
    try:
        with wave.open(io.BytesIO(data)) as sound:
            rate, channels, width = sound.getframerate(), sound.getnchannels(), sound.getsampwidth()
            if width != 2 or not 8_000 <= rate <= 48_000:
                what = f"{8 * width} bit at {rate} Hz"
                raise Refusal(400, f"the file has {what}: send 16-bit PCM", param="file")
            pcm = sound.readframes(round(max_seconds * rate) + 1)
    except (wave.Error, EOFError, struct.error) as error:
        reason = str(error) or "it is cut short"
        raise Refusal(400, f"the file is no WAV file: {reason}", param="file") from None
    frames = len(pcm) // (2 * channels)
    if not frames:
        raise Refusal(400, "the file has no audio", param="file")
    if frames > max_seconds * rate:
        raise Refusal(400, f"the audio is longer than {max_seconds:g} s", param="file")
    table = np.frombuffer(pcm[: frames * 2 * channels], "<i2").reshape(frames, channels)
    return rate, table.mean(axis=1, dtype=np.float32) / np.float32(32_768)


def wav_head(rate: int) -> bytes:
    """Return the head of a WAV file whose 16-bit PCM follows as it is made."""
    fields = struct.pack("<HHIIHH", 1, 1, rate, rate * 2, 2, 16)
    size = struct.pack("<I", UNKNOWN_SIZE)
    return b"RIFF" + size + b"WAVEfmt " + struct.pack("<I", 16) + fields + b"data" + size
