"""Turns sentences into speech, one sentence ahead of playback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import nullcontext
from dataclasses import dataclass

from vixio.audio.loudness import Leveller, VoiceLevels
from vixio.core.audio import pcm_bytes, pcm_seconds
from vixio.core.chunk import AudioOut, Chunk, Emotion, Sentence, SentenceFailed, TextDelta
from vixio.core.clock import now
from vixio.core.errors import REQUEST, ProviderError
from vixio.core.replacements import NO_REPLACEMENTS, Replacements
from vixio.core.station import ReplyStation
from vixio.core.streams import bounded, closing
from vixio.core.tasks import cancel_and_wait
from vixio.core.timeouts import Timeouts
from vixio.language.normalisation.normaliser import read
from vixio.language.text.characters import CLAUSES, CLOSERS
from vixio.providers.health import Watch
from vixio.providers.tts import TTSProvider
from vixio.stations.phrase_audio import PhraseAudio, Spoken

SENTENCES_AHEAD = 2
"""Sentences that may wait for the voice; beyond it the model waits."""

MAX_FAILED = 3
"""Sentences in a row that fail: then the voice is the cause, and the user is told at once."""

DEFAULT_LOUDNESS = -20.0

SENTENCE_PAUSE_S, CLAUSE_PAUSE_S = 0.3, 0.15
"""Between two sentences, and two parts of one, of a voice that makes no pause: eSpeak NG's own
within a longer text."""


MARGIN = 1.1
"""A voice that makes sound faster than it is heard by no more than this may be too slow."""
GRAIN_S = 0.16
"""Sound comes in pieces, and is sent in packets."""
FASTEST = 4.0
"""Above this nothing is to be known."""
LONGEST_HOLD_S = 3.0
"""A sentence is held back no longer; a voice that needs more cannot be helped."""


class VoiceSpeed:
    """How fast a voice makes sound, by its last sentences. Shared by all who use the voice."""

    def __init__(self) -> None:
        self._rate = FASTEST
        self._per_letter = 0.0

    def note(self, letters: int, seconds: float, later: float, waited: float) -> None:
        """Take a sentence of so many ``letters`` and ``seconds`` of sound.

        ``later``: of these, behind the first piece, for which it was ``waited``.
        """
        if letters:
            self._per_letter = seconds / letters
        if later:
            rate = min(FASTEST, later / max(waited, 1e-3))
            self._rate = (self._rate + rate) / 2 if self._rate < FASTEST else rate

    def ahead(self, letters: int) -> float:
        """Return how many seconds of such a sentence must be there, that the rest comes in time.

        While x seconds are heard, rate * x more are made: of a sentence of s seconds,
        s * (1 - rate) have to be there when it begins.
        """
        if self._rate >= MARGIN:
            return 0.0
        return letters * self._per_letter * (1 - self._rate / MARGIN) + GRAIN_S


@dataclass(frozen=True, slots=True)
class _Planned:
    """A sentence that waits for the voice. ``words``: what the voice gets for it."""

    sentence: Sentence
    words: str


_Item = Chunk | _Planned | BaseException | None


class TTSStation(ReplyStation):
    """Sentence in, the same Sentence and then its AudioOut out.

    A sentence whose text is the cause of a failure is left out: a SentenceFailed follows it.
    """

    name = "tts"
    answers_ahead = True

    def __init__(
        self,
        tts: TTSProvider,
        timeouts: Timeouts | None = None,
        *,
        loudness: float | None = DEFAULT_LOUDNESS,
        levels: VoiceLevels | None = None,
        watched: Watch = nullcontext,
        phrases: PhraseAudio | None = None,
        normalise: bool = False,
        speed: VoiceSpeed | None = None,
        pronunciations: Replacements = NO_REPLACEMENTS,
    ) -> None:
        """``watched``: learns whether each use of ``tts`` worked. ``loudness``: the level of every
        voice, in dB of full scale (RMS of the speech); None: unchanged. ``levels``: the measured
        loudness of each voice, shared by the process; ``phrases``: the audio of recurring
        sentences of ``tts``, too. ``normalise``: the voice gets numbers and the like as they are
        read, not as they are written. ``speed``: what is known of that of ``tts``, shared as well.
        ``pronunciations``: words that it gets instead of others.
        """
        self._tts = tts
        self._watched = watched
        self._timeouts = timeouts or Timeouts()
        self._loudness = loudness
        self._levels = levels or VoiceLevels()
        self._phrases = phrases or PhraseAudio()
        self._normalise = normalise
        self._speed = speed or VoiceSpeed()
        self._pronunciations = pronunciations
        self._pause_s = 0.0
        self._played_at = 0.0

    async def run(self, upstream: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
        """Speak; the model and the sentence station run in a task of their own.

        Raises ProviderError, also where no sentence at all could be spoken.
        """
        voice = self._tts.turn()
        spoken, failed, self._pause_s = False, 0, 0.0
        failure: ProviderError | None = None
        queue: asyncio.Queue[_Item] = asyncio.Queue(SENTENCES_AHEAD)
        pump = asyncio.create_task(self._pump(voice, upstream, queue))
        try:
            while (chunk := await queue.get()) is not None:
                if isinstance(chunk, BaseException):
                    raise chunk
                if not isinstance(chunk, _Planned):
                    yield chunk
                    continue
                planned, chunk = chunk, chunk.sentence
                self.context.timeline(chunk.turn_id).mark("first_sentence", now())
                yield chunk
                try:
                    async with closing(self._speak(voice, planned)) as audio:
                        async for piece in audio:
                            spoken = True
                            yield piece
                    failed = 0
                    self._pause_s = pause_after(chunk.spoken)
                except ProviderError as error:
                    error.part = "tts"
                    failed += 1
                    if error.reason != REQUEST or failed == MAX_FAILED:
                        raise
                    failure = error
                    yield SentenceFailed(chunk.turn_id, chunk.text, error.reason, str(error))
            if failure is not None and not spoken:
                raise failure
        finally:
            await cancel_and_wait(pump)
            await voice.leave()

    async def _pump(
        self,
        voice: TTSProvider,
        upstream: AsyncIterator[Chunk],
        queue: asyncio.Queue[_Item],
    ) -> None:
        end: BaseException | None = None
        emotion = ""
        try:
            async with closing(upstream) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, Sentence):
                        planned = _Planned(chunk, self._read(chunk.spoken))
                        if not chunk.recurring:  # those have an audio of their own, which is kept
                            language = self.context.language
                            voice.expect(planned.words, language=language, emotion=emotion)
                        await queue.put(planned)
                    elif not isinstance(chunk, TextDelta):
                        if isinstance(chunk, Emotion):
                            emotion = chunk.name
                        await queue.put(chunk)
            voice.complete()
        except Exception as error:  # noqa: BLE001 - raised again where the reply reads the queue
            end = error
        await queue.put(end)

    def _read(self, spoken: str) -> str:
        """Return what the voice gets for these words."""
        words = self._pronunciations(spoken)
        return read(words, self.context.language) if self._normalise else words

    async def _speak(self, voice: TTSProvider, planned: _Planned) -> AsyncIterator[Chunk]:
        leveller, rate, sentence = None, 0, planned.sentence
        async with closing(self._pieces(voice, planned)) as stream:
            async for pcm, rate, name in stream:
                if not voice.pauses and (pause := self._pause(rate)):
                    yield AudioOut(sentence.turn_id, pause, rate)
                self._played_at = max(self._played_at, now()) + pcm_seconds(pcm, rate)
                if self._loudness is None:
                    yield AudioOut(sentence.turn_id, pcm, rate)
                    continue
                if leveller is None:  # the voice of a fallback list is known once it speaks
                    level = self._levels.of(f"{name}/{self.context.language}")
                    leveller = Leveller(self._loudness, level, rate)
                for part in _parts(pcm, 2 * rate):
                    if levelled := leveller.feed(part):
                        yield AudioOut(sentence.turn_id, levelled, rate)
        if leveller is not None and (rest := leveller.finish()):
            yield AudioOut(sentence.turn_id, rest, rate)

    def _pause(self, rate: int) -> bytes:
        """Return the silence in front of a sentence, once; without what was silence anyway."""
        wanted, self._pause_s = self._pause_s, 0.0
        left = wanted - max(0.0, now() - self._played_at)
        return bytes(pcm_bytes(left, rate)) if left > 0.0 else b""

    async def _pieces(
        self, voice: TTSProvider, planned: _Planned
    ) -> AsyncIterator[tuple[bytes, int, str]]:
        """Yield the PCM of a sentence, each piece with its rate and the name of the voice."""
        language, sentence, words = self.context.language, planned.sentence, planned.words
        if sentence.recurring and (kept := self._phrases.get(language, words)) is not None:
            for pcm in kept.pieces:
                yield pcm, kept.rate, kept.voice
            return
        made: list[bytes] = []
        pieces = bounded(
            voice.synthesize(words, language=language),
            provider=voice.name,
            what="audio",
            first=self._timeouts.tts,
            next=self._timeouts.tts,
        )
        with self._watched():
            async with closing(pieces) as stream:
                async for pcm in self._steadily(stream, len(words), voice):
                    if pcm:
                        if sentence.recurring:
                            made.append(pcm)
                        yield pcm, voice.sample_rate, voice.name
        if sentence.recurring and voice.typical:
            self._phrases.keep(language, words, Spoken(tuple(made), voice.sample_rate, voice.name))

    async def _steadily(
        self, stream: AsyncIterator[bytes], letters: int, voice: TTSProvider
    ) -> AsyncIterator[bytes]:
        """Yield what a voice makes of a sentence of so many ``letters``, without gaps in it.

        A slow voice's first pieces are held back: a longer pause between two sentences is heard as
        one, a gap in a word is not.
        """
        speed, held = self._speed, list[bytes]()
        wanted = speed.ahead(letters)
        if wanted:
            self.context.counters.add("tts.held_back")
        made = first = waited = 0.0
        began = asked = now()
        async for pcm in stream:
            if made:
                waited += now() - asked
            made += pcm_seconds(pcm, voice.sample_rate)
            first = first or made
            held.append(pcm)
            if made >= wanted or now() - began >= LONGEST_HOLD_S:
                wanted = 0.0
                while held:
                    yield held.pop(0)
            asked = now()
        for pcm in held:
            yield pcm
        speed.note(letters, made, made - first, waited)


def pause_after(spoken: str) -> float:
    """Return how long a speaker rests behind these words, in seconds."""
    return CLAUSE_PAUSE_S if spoken.rstrip(CLOSERS)[-1:] in CLAUSES else SENTENCE_PAUSE_S


def _parts(pcm: bytes, size: int) -> Iterator[bytes]:
    """Split a long piece, so that its processing does not delay other devices."""
    for start in range(0, len(pcm), size):
        yield pcm[start : start + size]
