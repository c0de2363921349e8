"""Hears a file with the configured detector and recogniser, utterance by utterance."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from vixio.cli.diagnostics.audio_file import read_pcm
from vixio.cli.diagnostics.providers import Timing, bounded, started, usual_hints
from vixio.cli.diagnostics.room import SILENCE_S, in_a_room
from vixio.cli.diagnostics.utterances import Utterance, UtteranceCutter
from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE, pcm_bytes, pcm_seconds
from vixio.core.streams import closing
from vixio.core.tasks import cancel_and_wait
from vixio.core.timeouts import Timeouts
from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints
from vixio.providers.vad import VADProvider
from vixio.settings import Settings

CHUNK_MS = 60
"""What a device sends at a time, and so what a recogniser is fed."""

POLL_S = 0.02
"""How often a partial result is looked for while the final one is awaited."""

VAD_TIMEOUT_S = 10.0
"""For a second of audio."""

_DETECTED_AT_ONCE = pcm_bytes(1.0, LISTEN_RATE)


@dataclass(frozen=True, slots=True)
class Listener:
    """Callbacks while a file is transcribed; each must return at once."""

    progress: Callable[[str], None]
    partial: Callable[[str], None]
    """The words of the current utterance so far, whenever they change."""
    heard: Callable[[Utterance, Recognition], None]


async def transcribe(
    settings: Settings, path: Path, *, language: str, listener: Listener
) -> Timing:
    """Hear the file ``path``; return what it took. Raises ConfigError, ProviderError."""
    began = perf_counter()
    vad, asr = settings.vad.create(), settings.asr.create()
    listener.progress(f"starting {vad.name} and {asr.name}")
    hints = usual_hints(language)
    longest = longest_utterance(settings)
    async with started(vad), started(asr):
        asr.prepare(hints)
        cutter = UtteranceCutter(
            vad.window_samples, settings.vad_settings(), settings.turn_settings(), longest
        )
        ready = perf_counter()
        first: float | None = None
        audio = _Meter()
        async with closing(utterances(vad, audio.of(_pieces(path)), cutter)) as found:
            async for early in found:
                utterance = replace(early, start=max(0.0, early.start - SILENCE_S))
                listener.progress(f"hearing what begins at {utterance.start:.1f} s")
                hearing = Hearing(asr, hints, settings.time_limits(), listener.partial)
                recognition = await hearing.hear(utterance.pcm)
                if first is None and (recognition.text or hearing.first is not None):
                    first = hearing.first or perf_counter()
                listener.heard(utterance, recognition)
        ended = perf_counter()
    return Timing(
        audio.seconds, ready - began, None if first is None else first - ready, ended - ready
    )


def longest_utterance(settings: Settings) -> float:
    """Return the seconds that the server and the recogniser allow for one utterance."""
    bounds = [settings.listening.max_utterance_ms / 1000]
    for section in settings.asr.each():
        own = getattr(section.options, "max_seconds", None)
        if isinstance(own, int | float):
            bounds.append(own)
    return min(bounds)


async def utterances(
    vad: VADProvider, pieces: AsyncIterator[bytes], cutter: UtteranceCutter
) -> AsyncIterator[Utterance]:
    """Yield the utterances of a recording as the detector finds them. Raises ProviderError.

    Their times are those of the recording with SILENCE_S before it.
    """
    stream = vad.open()
    try:
        async with closing(in_a_room(pieces)) as incoming:
            async for piece in incoming:
                for start in range(0, len(piece), _DETECTED_AT_ONCE):
                    pcm = piece[start : start + _DETECTED_AT_ONCE]
                    answer = stream.process(pcm)
                    probabilities = await bounded(answer, vad.name, "answer", VAD_TIMEOUT_S)
                    for utterance in cutter.feed(pcm, probabilities):
                        yield utterance
        for utterance in cutter.finish():
            yield utterance
    finally:
        stream.close()


class Hearing:
    """One utterance on its way through the recogniser.

    ``first``: when (``perf_counter``) there were the first words of it, if any before the last.
    """

    def __init__(
        self,
        asr: ASRProvider,
        hints: SpeechHints,
        limits: Timeouts,
        partial: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.first: float | None = None
        self._asr = asr
        self._hints = hints
        self._limits = limits
        self._partial = partial
        self._shown = ""

    async def hear(self, pcm: bytes) -> Recognition:
        """Feed 16 kHz PCM as a device would, but as fast as it is taken; return the words."""
        stream = self._asr.open(self._hints)
        chunk = LISTEN_RATE * CHUNK_MS // 1000 * BYTES_PER_SAMPLE
        name, limits = self._asr.name, self._limits
        try:
            for start in range(0, len(pcm), chunk):
                feeding = stream.feed(pcm[start : start + chunk])
                await bounded(feeding, name, "progress", limits.asr_feed)
                await asyncio.sleep(0)  # what a service has answered meanwhile is read
                self._look(stream)
            finishing = self._finish(stream)
            return await bounded(finishing, name, "words", limits.asr)
        finally:
            await stream.close()

    async def _finish(self, stream: ASRStream) -> Recognition:
        finishing = asyncio.ensure_future(stream.finish())
        try:
            while not finishing.done():
                await asyncio.wait((finishing,), timeout=POLL_S)
                self._look(stream)
            return finishing.result()
        finally:
            await cancel_and_wait(finishing)

    def _look(self, stream: ASRStream) -> None:
        words = stream.partial
        if words and words != self._shown:
            self._shown = words
            self.first = perf_counter() if self.first is None else self.first
            self._partial(words)


class _Meter:
    """Counts the audio that passes."""

    def __init__(self) -> None:
        self.seconds = 0.0

    async def of(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async with closing(pieces) as incoming:
            async for piece in incoming:
                self.seconds += pcm_seconds(piece, LISTEN_RATE)
                yield piece


async def _pieces(path: Path) -> AsyncIterator[bytes]:
    reading = read_pcm(path)
    try:
        while (piece := await asyncio.to_thread(next, reading, None)) is not None:
            yield piece
    finally:
        reading.close()
