"""Providers for the end-to-end tests that know one thing well, so that a test can tell what was
heard from whom, what was to be spoken, and how much of it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from firmware_test_client import Voice
from firmware_test_client.speech import prepare
from vixio.core.audio import LISTEN_RATE, pcm_seconds
from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints
from vixio.providers.tts import TTSProvider

Signal = npt.NDArray[np.float64]
Spectrum = npt.NDArray[np.complex128]

DECIMATION = 4
SIZE = 1 << 15
"""Samples of 4 kHz, for utterances and recordings of at most 4 s each."""

Outcome = str | float | Exception
"""The words, an exception to raise, or seconds to wait before the next outcome."""

KNOWN = 0.5
"""Least correlation with a recording: through Opus it is above 0.9, with another one below 0.3."""


async def recordings(
    texts: Sequence[str], voices: Sequence[Voice] = (Voice(),)
) -> dict[str, Signal]:
    """Return what the simulated device says for ``texts``, each with its voice, in turn."""
    made: dict[str, Signal] = {}
    for index, text in enumerate(texts):
        utterance = await prepare(text, voices[index % len(voices)], LISTEN_RATE)
        made[text] = utterance.pcm.samples.astype(np.float64)
    return made


@dataclass(frozen=True, slots=True)
class Utterance:
    """What a recogniser was given, and which recording it was ("": none of them)."""

    label: str
    seconds: float
    score: float


class WaveformASR(ASRProvider):
    """Recognises recordings by the waveform that arrives: what it says was heard, was heard.

    ``outcomes``: what follows from a label where that is not its own words.
    """

    name = "waveform"

    def __init__(
        self,
        known: Mapping[str, Signal],
        outcomes: Mapping[str, Sequence[Outcome]] | None = None,
    ) -> None:
        self._known = {name: _spectrum(signal) for name, signal in known.items()}
        self.outcomes = dict(outcomes or {})
        self.heard: list[Utterance] = []
        self.open_streams = 0
        self.finishing = 0

    async def start(self) -> None:
        """Nothing is heavy."""

    def open(self, hints: SpeechHints) -> ASRStream:
        """Begin to listen."""
        return _WaveformStream(self)

    async def close(self) -> None:
        """Nothing to release."""

    def identify(self, pcm: bytes) -> Utterance:
        """Return the recording that ``pcm`` (16 kHz) holds."""
        heard = _spectrum(np.frombuffer(pcm, dtype="<i2").astype(np.float64))
        best, label = 0.0, ""
        for name, known in self._known.items():
            score = _correlation(heard, known)
            if score > best:
                best, label = score, name
        return Utterance(
            label if best >= KNOWN else "", pcm_seconds(pcm, LISTEN_RATE), round(best, 3)
        )


class _WaveformStream(ASRStream):
    def __init__(self, recogniser: WaveformASR) -> None:
        self._asr = recogniser
        self._pcm = bytearray()
        self._open = True
        recogniser.open_streams += 1

    async def feed(self, pcm: bytes) -> None:
        self._pcm += pcm

    async def finish(self) -> Recognition:
        self._asr.finishing += 1
        try:
            utterance = await asyncio.to_thread(self._asr.identify, bytes(self._pcm))
            self._asr.heard.append(utterance)
            if not utterance.label:
                return Recognition("", rejected=True)
            for outcome in self._asr.outcomes.get(utterance.label, (utterance.label,)):
                if isinstance(outcome, Exception):
                    raise outcome
                if isinstance(outcome, str):
                    return Recognition(outcome)
                await asyncio.sleep(outcome)
            return Recognition("")
        finally:
            self._asr.finishing -= 1

    async def close(self) -> None:
        if self._open:
            self._open = False
            self._asr.open_streams -= 1


def _spectrum(signal: Signal) -> Spectrum:
    """Return the spectrum up to 2 kHz, of unit energy: twenty devices must not wait for a test."""
    slow = signal[: len(signal) // DECIMATION * DECIMATION].reshape(-1, DECIMATION).mean(axis=1)
    norm = float(np.linalg.norm(slow))
    spectrum: Spectrum = np.fft.rfft(slow / norm if norm else slow, SIZE)
    return spectrum


def _correlation(heard: Spectrum, known: Spectrum) -> float:
    """Return the largest normalised cross-correlation over all shifts, 0…1."""
    return float(np.max(np.abs(np.fft.irfft(heard * np.conj(known), SIZE))))


@dataclass(eq=False)
class MeteredTTS(TTSProvider):
    """Another voice, with the seconds of each text that it was asked for."""

    inner: TTSProvider
    name: str = "metered"
    sample_rate: int = 24_000
    seconds: dict[str, float] = field(default_factory=dict)

    async def start(self) -> None:
        """Start the voice."""
        await self.inner.start()
        self.sample_rate = self.inner.sample_rate

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Speak, and measure."""
        total = 0.0
        async for pcm in self.inner.synthesize(text, language=language):
            total += pcm_seconds(pcm, self.inner.sample_rate)
            yield pcm
        self.seconds[text] = total

    async def close(self) -> None:
        """Close the voice."""
        await self.inner.close()


class ToneTTS(TTSProvider):
    """Speaks a text that holds a number as a tone of that many Hz, ``seconds`` long."""

    name = "tone"
    sample_rate = 24_000

    def __init__(self, seconds: float = 1.2) -> None:
        self._seconds = seconds

    async def start(self) -> None:
        """Nothing is heavy."""

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Yield the tone in pieces of 100 ms."""
        hertz = int("".join(character for character in text if character.isdigit()))
        count = round(self._seconds * self.sample_rate)
        wave = np.sin(2 * math.pi * hertz / self.sample_rate * np.arange(count))
        pcm = (9000 * wave).astype("<i2").tobytes()
        size = 2 * self.sample_rate // 10
        for at in range(0, len(pcm), size):
            yield pcm[at : at + size]

    async def close(self) -> None:
        """Nothing to release."""


def loudest_hertz(samples: npt.NDArray[np.int16], rate: int) -> float:
    """Return the frequency with the most energy."""
    spectrum = np.abs(np.fft.rfft(samples.astype(np.float64)))
    return float(np.argmax(spectrum)) * rate / len(samples)
