"""The user's speech: text, sound files or PCM, prepared for the microphone.

Synthesised and resampled speech, encoded speech and encoded room noise are cached for the whole
process, so that hundreds of devices can say the same sentence at the cost of one.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from firmware_test_client.config import Codec, DeviceConfig, Voice
from firmware_test_client.espeak import synthesise
from firmware_test_client.opus import Encoder
from firmware_test_client.pcm import Pcm, read_wav, room_noise
from firmware_test_client.pcm_codec import PcmEncoder

Speech = str | Path | Pcm
_VOICE_LEVEL = 330  # of 32768, about -40 dBFS: below it a 10 ms block counts as silence
_NOISE_SECONDS = 4.2  # of room noise, a multiple of 20, 40 and 60 ms; then it repeats

_MANY_UTTERANCES = 4096
"""Kept in each cache: more than devices with words of their own in one process, or each of them
would encode its words again each time."""


@dataclass(frozen=True, slots=True)
class StreamFormat:
    """How an uplink stream is encoded."""

    rate: int  # Hz
    frame_ms: int
    application: str
    complexity: int
    noise_dbfs: float | None
    codec: Codec = "opus"

    @classmethod
    def of(cls, config: DeviceConfig) -> StreamFormat:
        """The format of one device."""
        return cls(
            config.uplink_rate,
            config.uplink_frame_ms,
            config.opus_application,
            config.opus_complexity,
            config.noise_dbfs,
            config.codec,
        )

    @property
    def frame_samples(self) -> int:
        """Samples per packet."""
        return self.rate * self.frame_ms // 1000

    def encoder(self) -> Encoder | PcmEncoder:
        """A fresh encoder of this format."""
        if self.codec == "pcm":
            return PcmEncoder()
        return Encoder(self.rate, self.frame_ms, self.application, self.complexity)


@dataclass(frozen=True, slots=True)
class Utterance:
    """Speech at the uplink rate. `voice_start` and `voice_end` are seconds within it."""

    text: str
    pcm: Pcm
    voice_start: float
    voice_end: float


async def prepare(speech: Speech, voice: Voice, rate: int) -> Utterance:
    """Prepare speech for the microphone.

    Raises:
        SpeechError: unknown voice, or an unreadable sound file.
    """
    if isinstance(speech, str):
        pcm = await synthesise(speech, voice)
        return await asyncio.to_thread(_cached_utterance, speech, pcm, rate)
    if isinstance(speech, Path):
        pcm = await asyncio.to_thread(read_wav, speech)
        return await asyncio.to_thread(_cached_utterance, speech.name, pcm, rate)
    return await asyncio.to_thread(_cached_utterance, "", speech, rate)


@lru_cache(maxsize=_MANY_UTTERANCES)
def _cached_utterance(text: str, pcm: Pcm, rate: int) -> Utterance:
    return _utterance(text, pcm.resampled(rate))


def _utterance(text: str, pcm: Pcm) -> Utterance:
    block = pcm.rate // 100
    samples = pcm.samples[: len(pcm.samples) // block * block].reshape(-1, block)
    loud = np.flatnonzero(np.abs(samples.astype(np.int32)).max(axis=1) >= _VOICE_LEVEL)
    if len(loud) == 0:
        return Utterance(text, pcm, 0.0, pcm.duration)
    return Utterance(text, pcm, loud[0] / 100, (loud[-1] + 1) / 100)


@lru_cache(maxsize=16)
def noise_samples(rate: int, dbfs: float | None) -> Pcm:
    """The room's noise, to be repeated end to end."""
    return room_noise(_NOISE_SECONDS, rate, dbfs)


@lru_cache(maxsize=_MANY_UTTERANCES)
def encoded_speech(utterance: Utterance, format_: StreamFormat) -> tuple[bytes, ...]:
    """The utterance in the room's noise as packets of an encoder of its own."""
    frame = format_.frame_samples
    voice = utterance.pcm.samples
    count = -(-len(voice) // frame)
    mixed = np.zeros(count * frame, dtype=np.int32)
    mixed[: len(voice)] += voice
    noise = noise_samples(format_.rate, format_.noise_dbfs).samples
    mixed += np.resize(noise, len(mixed))
    data = np.clip(mixed, -32768, 32767).astype("<i2").tobytes()
    return _encode(data, format_)


@lru_cache(maxsize=16)
def encoded_noise(format_: StreamFormat) -> tuple[bytes, ...]:
    """Room noise as packets to repeat, from a point at which DTX has settled."""
    noise = noise_samples(format_.rate, format_.noise_dbfs).data
    packets = _encode(noise + noise, format_)
    return packets[len(packets) // 2 :]


def _encode(data: bytes, format_: StreamFormat) -> tuple[bytes, ...]:
    encoder = format_.encoder()
    size = 2 * format_.frame_samples
    return tuple(
        encoder.encode(data[at : at + size]) for at in range(0, len(data) - size + 1, size)
    )
