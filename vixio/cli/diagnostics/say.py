"""Speaks a text with the configured voice, sentence by sentence as the server would, to a file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from vixio.cli.diagnostics.audio_file import WavWriter
from vixio.cli.diagnostics.providers import Timing, started
from vixio.core.audio import BYTES_PER_SAMPLE, pcm_bytes
from vixio.core.errors import ConfigError
from vixio.core.streams import bounded, closing
from vixio.language.normalisation.normaliser import read
from vixio.language.text.splitter import Words
from vixio.settings import Settings
from vixio.stations.speech_text import SpeechText
from vixio.stations.tts import pause_after

Progress = Callable[[str], None]
"""Called with the current step, in a few words."""


def sentences(text: str, language: str = "") -> list[str]:
    """Return what a voice is given of ``text``, one sentence at a time. Raises ConfigError."""
    splitter = SpeechText(language=language)
    found = [
        each.spoken
        for part in (splitter.feed(text), splitter.finish())
        for each in part
        if isinstance(each, Words)
    ]
    if not found:
        raise ConfigError("there is nothing in the text that could be spoken")
    return found


async def say(
    settings: Settings, text: str, path: Path, *, language: str, progress: Progress
) -> Timing:
    """Write ``text``, spoken in ``language``, to the WAV ``path``; return what it took.

    Raises ConfigError, ProviderError; there is no file then.
    """
    spoken = [settings.assistant.pronunciations(each) for each in sentences(text, language)]
    if settings.output.normalise:
        spoken = [read(sentence, language) for sentence in spoken]
    limits = settings.time_limits()
    began = perf_counter()
    tts = settings.tts.create()
    progress(f"starting {tts.name}")
    async with started(tts):
        rate = tts.sample_rate
        ready = perf_counter()
        first: float | None = None
        samples, pause = 0, b""
        with await asyncio.to_thread(WavWriter, path, rate) as wav:
            for number, sentence in enumerate(spoken, 1):
                length = samples / rate
                progress(f"sentence {number} of {len(spoken)}; {length:.1f} s of audio so far")
                pieces = bounded(
                    tts.synthesize(sentence, language=language),
                    provider=tts.name,
                    what="audio",
                    first=limits.tts,
                    next=limits.tts,
                )
                async with closing(pieces) as stream:
                    async for pcm in stream:
                        first = perf_counter() if first is None else first
                        for part in (pause, pcm):
                            samples += len(part) // BYTES_PER_SAMPLE
                            wav.write(part)
                        pause = b""
                if not tts.pauses:
                    pause = bytes(pcm_bytes(pause_after(sentence), rate))
            if not samples:
                raise ConfigError(
                    f"tts.{tts.name}: no audio for this text; does its voice fit {language}?"
                )
        ended = perf_counter()
    return Timing(
        samples / rate,
        ready - began,
        None if first is None else first - ready,
        ended - ready,
    )
