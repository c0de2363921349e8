"""The voice, the detector and the recogniser, each used on the same sentence."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from collections.abc import AsyncIterator, Callable
from difflib import SequenceMatcher
from functools import partial
from time import perf_counter

from vixio.cli.diagnostics.phrases import sentence
from vixio.cli.diagnostics.providers import bounded, usual_hints
from vixio.cli.diagnostics.row import Row, quoted, tried
from vixio.cli.diagnostics.spoken import as_heard, resampled, spoken
from vixio.cli.diagnostics.transcribe import CHUNK_MS, VAD_TIMEOUT_S, Hearing, longest_utterance
from vixio.cli.diagnostics.trials import Trial, Trials
from vixio.cli.diagnostics.utterances import UtteranceCutter
from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE, pcm_seconds, wav
from vixio.core.errors import ProviderError
from vixio.core.language_tags import primary
from vixio.core.streams import bounded as bounded_stream
from vixio.core.streams import closing
from vixio.providers.asr import ASRProvider, Recognition
from vixio.providers.tts import TTSProvider
from vixio.providers.vad import VADProvider
from vixio.settings import Settings

ALIKE = 0.8
"""Of the words, in order, for a sentence that was understood."""

NEAR = 0.5
"""Of the letters, for a sentence that eSpeak NG has said: its voice is harder to understand than
any person's, above all in other languages than English."""

_UNSPACED = frozenset({"ja", "ko", "th", "yue", "zh"})
"""Languages that are compared by characters: they have no spaces, or spaces that people disagree
about (Korean)."""

NO_SPEECH = "not tried: there is no speech to hear; mend the voice, or install espeakng-loader"


class SpeechProbe:
    """Tries TTS, VAD and ASR in this order, each with the output of the one before.

    Every provider of a fallback list is tried. ``limit``: seconds for each.
    """

    def __init__(self, settings: Settings, trials: Trials, limit: float) -> None:
        self._settings = settings
        self._trials = trials
        self._limit = limit
        self._language = settings.assistant.language
        self._sentence = sentence(self._language)
        self._speech = b""
        """The configured voice's, as a device hears it."""
        self._reserve: bytes | None = None
        """eSpeak NG's, once it was needed."""
        self._found = b""
        """What the detector found in the configured voice's speech."""
        self._odd_voice = False
        self._robotic = True
        """Whether all that there is to hear is eSpeak's."""

    async def rows(self, progress: Callable[[str], None]) -> AsyncIterator[Row]:
        """Yield the result of each; ``progress`` is called with the current step."""
        progress("speaking a sentence")
        voices = [await self._voice(each) for each in self._trials.tts]
        speaker, self._speech = next((each for each in voices if each[1]), (None, b""))
        self._robotic = speaker is None or speaker.provider == "espeak"
        progress("finding the speech")
        detectors = [await self._detector(each) for each in self._trials.vad]
        if speaker is not None and self._odd_voice and not self._found:
            speaker.fail(
                "no speech was found in what it says, but in eSpeak's: listen to it with "
                "`vixio say`; does the voice fit the language?"
            )
        for row, _ in voices:
            yield row
        for row in detectors:
            yield row
        progress("hearing the words")
        for trial in self._trials.asr:
            row = Row(trial.part)
            await tried(row, partial(self._recognise, trial), None, self._limit)
            yield row

    async def _voice(self, trial: Trial[TTSProvider]) -> tuple[Row, bytes]:
        row = Row(trial.part)
        return row, await tried(row, partial(self._speak, trial), b"", self._limit)

    async def _detector(self, trial: Trial[VADProvider]) -> Row:
        row = Row(trial.part)
        found = await tried(row, partial(self._detect, trial), b"", self._limit)
        self._found = self._found or found
        return row

    async def _made_up(self) -> bytes:
        if self._reserve is None:
            try:
                speech = await spoken(self._sentence, language=self._language)
            except ProviderError:
                speech = b""  # eSpeak NG may have been uninstalled
            self._reserve = await asyncio.to_thread(as_heard, speech) if speech else b""
        return self._reserve

    async def _speak(self, trial: Trial[TTSProvider], row: Row) -> bytes:
        limits = self._settings.time_limits()
        pcm = bytearray()
        async with trial.use(row) as tts:
            row.is_ready()
            pieces = bounded_stream(
                tts.synthesize(self._sentence, language=self._language),
                provider=tts.name,
                what="audio",
                first=limits.tts,
                next=limits.tts,
            )
            async with closing(pieces) as stream:
                async for piece in stream:
                    row.has_first()
                    pcm += piece
            row.is_done()
            rate = tts.sample_rate
        said = quoted(self._sentence)
        if not pcm:
            row.fail(f"no audio for {said}: does its voice fit {self._language}?")
            return b""
        row.sound = wav(bytes(pcm), rate)
        row.detail = f"{pcm_seconds(bytes(pcm), rate):.1f} s of audio at {rate} Hz for {said}"
        return await asyncio.to_thread(lambda: as_heard(resampled(bytes(pcm), rate)))

    async def _detect(self, trial: Trial[VADProvider], row: Row) -> bytes:
        async with trial.use(row) as vad:
            if found := await self._utterance(row, vad, self._speech):
                row.detail = self._length(found, self._speech)
                return found
            reserve = await self._made_up()
            if found := await self._utterance(row, vad, reserve):
                self._odd_voice = bool(self._speech)
                row.detail = f"{self._length(found, reserve)} of eSpeak's"
                return b""
        if self._speech or reserve:
            row.fail("finds no speech where there is some: see listening.threshold in the settings")
        else:
            row.fail(NO_SPEECH)
        return b""

    @staticmethod
    def _length(found: bytes, speech: bytes) -> str:
        seconds = pcm_seconds(found, LISTEN_RATE), pcm_seconds(speech, LISTEN_RATE)
        return f"found {seconds[0]:.1f} s of speech in {seconds[1]:.1f} s"

    async def _utterance(self, row: Row, vad: VADProvider, speech: bytes) -> bytes:
        """Return all that is speech of ``speech``, as a recogniser would be given it."""
        settings = self._settings
        cutter = UtteranceCutter(
            vad.window_samples,
            settings.vad_settings(),
            settings.turn_settings(),
            longest_utterance(settings),
        )
        row.is_ready()
        found = bytearray()
        size = LISTEN_RATE * CHUNK_MS // 1000 * BYTES_PER_SAMPLE
        stream = vad.open()
        try:
            for start in range(0, len(speech), size):
                pcm = speech[start : start + size]
                answer = await bounded(stream.process(pcm), vad.name, "answer", VAD_TIMEOUT_S)
                row.has_first()
                for utterance in cutter.feed(pcm, answer):
                    found += utterance.pcm
            for utterance in cutter.finish():
                found += utterance.pcm
        finally:
            stream.close()
        row.is_done()
        return bytes(found)

    async def _recognise(self, trial: Trial[ASRProvider], row: Row) -> None:
        async with trial.use(row) as asr:
            heard: Recognition | None = None
            if self._found:
                heard = await self._words(row, asr, self._found)
                if alike(heard.text, self._sentence, self._language):
                    row.detail = f"understood {quoted(heard.text)}"
                    return
            speech = await self._made_up()
            if not speech:
                row.fail(NO_SPEECH if heard is None else self._misheard(heard))
                return
            reserve = await self._words(row, asr, speech)
        if not alike(reserve.text, self._sentence, self._language):
            first = reserve if heard is None else heard
            if self._robotic and _near(first.text, self._sentence):
                row.warn = True
                row.detail = f"{_words(first)} for {quoted(self._sentence)}, which eSpeak said"
            else:
                row.fail(self._misheard(first))
        elif heard is None:
            row.detail = f"understood {quoted(reserve.text)} of eSpeak's"
        else:
            row.warn = True
            row.detail = f"understood eSpeak's voice, but of yours {_words(heard)}"

    async def _words(self, row: Row, asr: ASRProvider, pcm: bytes) -> Recognition:
        row.is_ready()
        hearing = Hearing(asr, usual_hints(self._language), self._settings.time_limits())
        heard = await hearing.hear(pcm)
        row.has_first(perf_counter() if hearing.first is None else hearing.first)
        row.is_done()
        return heard

    def _misheard(self, heard: Recognition) -> str:
        return (
            f"{_words(heard)} for {quoted(self._sentence)}: "
            f"does it know assistant.language, {self._language}?"
        )


def _words(heard: Recognition) -> str:
    if heard.text:
        return f"heard {quoted(heard.text)}"
    return "understood nothing" if heard.rejected else "heard nothing"


def alike(heard: str, said: str, language: str) -> bool:
    """Return whether :data:`ALIKE` of the words of both are the same, in the same order."""
    one, other = _units(heard, language), _units(said, language)
    same = SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    right = sum(block.size for block in same)
    return right >= ALIKE * max(len(one), len(other))


def _near(heard: str, said: str) -> bool:
    return SequenceMatcher(None, heard.casefold(), said.casefold(), autojunk=False).ratio() >= NEAR


def _units(text: str, language: str) -> list[str]:
    """Return the words of a text, or its characters where ``language`` has no spaces."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return re.findall(r"\w" if primary(language) in _UNSPACED else r"\w+", plain)
