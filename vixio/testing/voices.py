"""Speech as a device sends it: eSpeak NG, room noise, Opus at 16 kHz with DTX, silence around."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import soxr
from numpy.typing import NDArray

from vixio.core.audio import LISTEN_RATE
from vixio.providers.espeak_process.library import load_espeak
from vixio.providers.espeak_process.messages import Voice

Floats = NDArray[np.float32]

FRAME_SAMPLES = LISTEN_RATE * 60 // 1000
"""One packet of the firmware: 60 ms."""

LEAD_SECONDS = 0.3
"""Pre-roll before the first word, as the voice detector leaves it."""
TAIL_SECONDS = 0.5
"""Silence after the last word, by which the turn is known to have ended."""
NOISE_DB = -60.0
"""Noise floor below full scale; speech is near -9 dB at its peaks."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """A voice of eSpeak NG, words a minute, pitch (0…99)."""

    voice: str
    rate: int
    pitch: int


class Voices:
    """Speaks sentences as a device would send them. Blocking; for one thread.

    ``repeatable``: with the same noise in the voice each time. Else that is another draw in each
    run, with eSpeak NG 1.52 and later.
    """

    def __init__(self, *, repeatable: bool = False) -> None:
        self._library = load_espeak()
        self._repeatable = repeatable
        self._libc = ctypes.CDLL(None)

    def say(self, text: str, speaker: Speaker, seed: int) -> list[bytes]:
        """Return the decoded 60 ms packets (16 kHz PCM) of ``text``, equal for equal ``seed``."""
        return as_heard(self.speak(text, speaker, seed), self.sample_rate, seed)

    @property
    def sample_rate(self) -> int:
        """Of what :meth:`speak` returns, in Hz."""
        return self._library.sample_rate

    def speak(self, text: str, speaker: Speaker, seed: int) -> bytes:
        """Return the voice alone, 16-bit PCM. ``seed``: of its noise."""
        voice = Voice(speaker.voice, speaker.rate, speaker.pitch, 100)
        if not self._library.set_voice(voice):
            raise ValueError(f"eSpeak NG has no voice {speaker.voice!r}")
        # Before 1.52 eSpeak NG makes its noise with the C library's generator.
        self._libc.srand(seed)
        if self._repeatable:
            self._library.seed(seed)
        chunks: list[bytes] = []

        def keep(pcm: bytes) -> bool:
            chunks.append(pcm)
            return True

        self._library.synthesize(text, keep, pause_after=False)
        return b"".join(chunks)


def as_heard(pcm: bytes, rate: int, seed: int) -> list[bytes]:
    """Return speech as a device sends it: in a room, with silence around it, through Opus.

    60 ms packets of 16 kHz PCM, equal for equal ``seed``.
    """
    speech = np.frombuffer(pcm, "<i2").astype(np.float32) / 32768
    speech = np.asarray(soxr.resample(speech, rate, LISTEN_RATE), np.float32)
    generator = np.random.default_rng(seed)
    gain = 10 ** (float(generator.uniform(-14.0, -4.0)) / 20)
    peak = float(np.abs(speech).max()) if speech.size else 1.0
    lead, tail = int(LEAD_SECONDS * LISTEN_RATE), int(TAIL_SECONDS * LISTEN_RATE)
    padded = np.concatenate(
        [np.zeros(lead, np.float32), speech * (gain / peak), np.zeros(tail, np.float32)]
    )
    noise = generator.standard_normal(padded.size).astype(np.float32) * 10 ** (NOISE_DB / 20)
    return list(through_opus(padded + noise))


def through_opus(audio: Floats) -> Iterator[bytes]:
    """Encode and decode as the firmware's uplink does: 60 ms packets, VOIP, DTX."""
    import opuslib
    import opuslib.api.ctl
    import opuslib.api.encoder

    encoder = opuslib.Encoder(LISTEN_RATE, 1, opuslib.APPLICATION_VOIP)
    encoder.complexity = 0
    # Not ``encoder.dtx = 1``: the binding's setter only reads.
    opuslib.api.encoder.encoder_ctl(encoder.encoder_state, opuslib.api.ctl.set_dtx, 1)
    decoder = opuslib.Decoder(LISTEN_RATE, 1)
    samples = np.clip(audio * 32768, -32768, 32767).astype("<i2")
    for start in range(0, samples.size - FRAME_SAMPLES + 1, FRAME_SAMPLES):
        packet = encoder.encode(samples[start : start + FRAME_SAMPLES].tobytes(), FRAME_SAMPLES)
        yield decoder.decode(packet, FRAME_SAMPLES)
