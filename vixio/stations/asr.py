"""Feeds each turn's audio to the recogniser while the user speaks, and passes on its words."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TypeVar

from vixio.core.audio import LISTEN_RATE, pcm_seconds
from vixio.core.chunk import (
    Abort,
    AudioIn,
    Chunk,
    EarlyTranscript,
    ListenStart,
    PartialTranscript,
    TextInput,
    Transcript,
    TurnDropped,
    TurnEnded,
    TurnPaused,
    TurnResumed,
    TurnStarted,
)
from vixio.core.clock import now as clock_now
from vixio.core.errors import ProviderTimeout, describe
from vixio.core.replacements import NO_REPLACEMENTS, Replacements
from vixio.core.station import Emit, ListeningStation, StationContext
from vixio.core.tasks import cancel_and_wait
from vixio.core.timeouts import Timeouts
from vixio.core.tools.types import ToolDefinition
from vixio.core.turns.completeness import completeness
from vixio.core.well_formed import well_formed
from vixio.core.whole_phrases import bare
from vixio.providers.asr import ASRProvider, ASRStream, SpeechHints
from vixio.providers.health import Watch
from vixio.stations.failure import turn_failure

T = TypeVar("T")

_log = logging.getLogger(__name__)

MAX_TRANSCRIPT_CHARS = 4_000
"""Longer transcripts are cut. The longest utterance has about a thousand characters."""

MAX_HINT_UPDATES = 3
"""Changes of the tool list that one utterance follows. A closed-vocabulary recogniser decodes it
again each time, so a device that changes its tools all the time must not cause more."""


QUEUE_CHUNKS = 500
"""Bound of the audio queue for a slow recogniser; beyond it the oldest is dropped and counted."""


MAX_EARLY = 3
"""Pauses of one utterance after which its words are looked for. If the user goes on, the recogniser
hears the utterance again from its beginning."""

EARLY_SILENCE = bytes(9_600)
"""0.3 s of PCM behind what was heard up to a pause: as much as the end of an utterance has more.
Without, PocketSphinx takes more of what it does not know for a command (6 instead of 3 %)."""

MAX_SOUND_BYTES = 480_000
"""PCM of an utterance that is kept where its sound is: 15 s, its beginning."""

KeepSound = Callable[[str, str, int, bytes], None]
"""Takes the sound of an utterance that has been recognised, 16 kHz s16 mono, with the ids of its
device, session and turn. A function, and no event: those are read by everybody."""

AGAIN_BYTES = 32_000
"""PCM that it is then given at a time: a second."""

GATHERED_CHUNKS = 16
"""About a second of audio in the packets of most devices; a recogniser that gathers is fed then."""


@dataclass(slots=True)
class _Utterance:
    turn_id: int
    queue: deque[bytes] = field(default_factory=deque)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    ended: bool = False
    task: asyncio.Task[None] | None = None
    partial: str = ""
    """The words to pass on next; empty when there are none that are new."""
    stream: ASRStream | None = None
    """Its recognition, while it may still take audio and hints."""
    hint_updates: int = 0
    gathers: bool = False
    """Whether its task may sleep while audio waits."""
    fed: list[bytes] = field(default_factory=list)
    """What the recogniser has heard, as long as it may have to hear it again."""
    paused: bool = False
    """Whether the utterance may be complete."""
    resumes: int = 0
    """Pauses after which it was not."""
    sound: bytearray = field(default_factory=bytearray)
    """What was said, where that is kept."""

    def take(self) -> bytes:
        """Return the audio to feed next, which is no longer queued."""
        if not self.gathers:
            return self.queue.popleft()
        pcm = b"".join(self.queue)
        self.queue.clear()
        return pcm

    def hear(self, partial: str) -> None:
        """Take a partial result of the recogniser."""
        self.partial = partial
        self.changed.set()


class ASRStation(ListeningStation):
    """Turns the audio of a turn into words.

    One task per utterance feeds the recogniser, so a slow recogniser never delays the microphone.
    """

    name = "asr"

    def __init__(
        self,
        asr: ASRProvider,
        timeouts: Timeouts | None = None,
        *,
        watched: Watch = nullcontext,
        early: bool = False,
        corrections: Replacements = NO_REPLACEMENTS,
        keep: KeepSound | None = None,
    ) -> None:
        """``watched``: learns whether each use of ``asr`` worked. ``early``: look for the words in
        the pauses of an utterance. ``corrections``: of words that it does not know. ``keep``:
        takes what was said; None: nothing is held of it."""
        self._asr = asr
        self._early = early
        self._corrections = corrections
        self._keep = keep
        self._watched = watched
        self._timeouts = timeouts or Timeouts()
        self._current: _Utterance | None = None
        self._running: dict[int, _Utterance] = {}
        self._newest = 0
        self._foretold, self._language = False, ""
        """Whether the partial words of the last pause were all of them, and their language."""
        self._unwatch: Callable[[], None] = lambda: None

    def bind(self, context: StationContext, emit: Emit) -> None:
        """Follow the session's tools, so that the recogniser can prepare for their words."""
        super().bind(context, emit)
        self._unwatch = context.tools.watch(self._tools_changed)
        self._tools_changed(context.tools.definitions())

    def _tools_changed(self, tools: tuple[ToolDefinition, ...]) -> None:
        hints = self._hints(tools)
        try:
            self._asr.prepare(hints)
        except Exception as error:  # noqa: BLE001 - only an optimisation
            self._note("prepare", error)
        for utterance in self._running.values():
            self._update_hints(utterance, hints)

    def _hints(self, tools: tuple[ToolDefinition, ...]) -> SpeechHints:
        return SpeechHints(tools, self.context.language, self.context.phrases)

    def _update_hints(self, utterance: _Utterance, hints: SpeechHints) -> None:
        if utterance.stream is None or utterance.hint_updates >= MAX_HINT_UPDATES:
            return
        utterance.hint_updates += 1
        try:
            utterance.stream.update_hints(hints)
        except Exception as error:  # noqa: BLE001 - it goes on with the hints that it has
            self._note("update_hints", error)

    async def feed(self, chunk: Chunk, now: float) -> Sequence[Chunk]:
        """Consume a turn's audio; everything else passes through.

        What is still being recognised is dropped when the user calls it off.
        """
        match chunk:
            case AudioIn(pcm=pcm):
                self._queue(pcm)
                return ()
            case TurnStarted(turn_id=turn_id):
                self._begin(turn_id)
            case TurnPaused() if self._early and self._current is not None:
                self._current.paused = self._current.resumes < MAX_EARLY
                self.context.words_due = self._current.paused
                self._current.changed.set()
            case TurnResumed() if self._current is not None:
                self._current.paused = self.context.words_due = False
                self._current.resumes += 1
                self._current.changed.set()
            case TurnEnded():
                self._end()
            case TurnDropped(turn_id=turn_id):
                self._cancel(turn_id)
            case Abort() | TextInput() | ListenStart():
                void = list(self._running)
                for running in void:
                    self._cancel(running)
                return (*(TurnDropped(turn_id) for turn_id in void), chunk)
            case _:
                pass
        return (chunk,)

    async def close(self) -> None:
        """Cancel what is being recognised."""
        self._unwatch()
        for turn_id in list(self._running):
            self._cancel(turn_id)

    def _begin(self, turn_id: int) -> None:
        self.context.words_due = False
        self.context.hears_freely = self._asr.hears_freely
        utterance = _Utterance(turn_id)
        self._current = utterance
        self._running[turn_id] = utterance
        self._newest = turn_id
        self.context.spawn(self._recognise(utterance))

    def _queue(self, pcm: bytes) -> None:
        utterance = self._current
        if utterance is None:
            return
        utterance.queue.append(pcm)
        if self._keep is not None:
            utterance.sound += pcm[: MAX_SOUND_BYTES - len(utterance.sound)]
        if len(utterance.queue) > QUEUE_CHUNKS:
            utterance.queue.popleft()
            self.context.counters.add("asr.audio_dropped")
        if not utterance.gathers or len(utterance.queue) >= GATHERED_CHUNKS:
            utterance.changed.set()

    def _end(self) -> None:
        if self._current is not None:
            self._current.ended = True
            self._current.changed.set()
            self._current = None

    def _cancel(self, turn_id: int) -> None:
        utterance = self._running.pop(turn_id, None)
        if utterance is None:
            return
        if self._current is utterance:
            self._current = None
        if utterance.task is not None:
            utterance.task.cancel()
        utterance.ended = True
        utterance.changed.set()

    async def _recognise(self, utterance: _Utterance) -> None:
        utterance.task = asyncio.current_task()
        turn_id = utterance.turn_id
        if turn_id not in self._running:
            return
        try:
            with self._watched():
                outcome = await self._words(utterance)
        except Exception as error:  # noqa: BLE001 - a defect costs a turn, like an error
            outcome = await self._failure(utterance, error)
        if self._running.pop(turn_id, None) is not None:
            timeline = self.context.timeline(turn_id)
            timeline.mark("transcript", clock_now())
            if self._keep is not None and utterance.sound and isinstance(outcome, Transcript):
                sound = bytes(utterance.sound)
                timeline.sound_ms = round(pcm_seconds(sound, LISTEN_RATE) * 1000)
                self._keep(self.context.device_id, self.context.session_id, turn_id, sound)
            await self.emit((outcome,))

    async def _words(self, utterance: _Utterance) -> Chunk:
        stream = self._open(utterance)
        try:
            while True:
                while utterance.queue:
                    pcm = utterance.take()
                    if self._early:
                        utterance.fed.append(pcm)
                    await self._bounded(stream.feed(pcm), "progress", self._timeouts.asr_feed)
                if utterance.ended:
                    break
                if utterance.paused:
                    if (words := await self._early_words(utterance, stream)) is not None:
                        return words
                    await self._close(stream)
                    stream = self._open(utterance)
                    continue
                if utterance.partial:
                    await self._pass_on_partial(utterance)
                    continue
                utterance.changed.clear()
                await utterance.changed.wait()
            if self._asr.closed_vocabulary:
                await self.context.tools_ready(utterance.turn_id)
            utterance.stream = None
            return await self._finish(stream, utterance.turn_id)
        finally:
            utterance.stream = None
            await self._close(stream)

    def _open(self, utterance: _Utterance) -> ASRStream:
        """Begin to recognise an utterance, from its beginning."""
        stream = self._asr.open(self._hints(self.context.tools.definitions()))
        stream.on_partial = utterance.hear
        utterance.stream = stream
        utterance.gathers = stream.gathers
        if utterance.fed:
            again, utterance.fed = b"".join((*utterance.fed, *utterance.queue)), []
            pieces = range(0, len(again), AGAIN_BYTES)
            utterance.queue = deque(again[start : start + AGAIN_BYTES] for start in pieces)
        return stream

    async def _close(self, stream: ASRStream) -> None:
        try:
            await stream.close()
        except Exception as error:  # noqa: BLE001 - the words are known already
            self._note("close", error)

    async def _early_words(self, utterance: _Utterance, stream: ASRStream) -> Chunk | None:
        """Pass on the words so far, in a pause; return them if the utterance ends with it.

        None: the user went on, or the recogniser failed, which may be better at the end.
        """
        resumes, turn_id = utterance.resumes, utterance.turn_id
        if self._asr.closed_vocabulary:
            await self.context.tools_ready(turn_id)
        utterance.stream = None
        if self._foretold and (words := self._cleaned(stream.partial)) and turn_id == self._newest:
            # They were right before, so an answer need not wait for the recogniser to say it.
            self.context.counters.add("asr.early_partial")
            known = completeness(words, self._language or self.context.language)
            await self.emit((EarlyTranscript(turn_id, words, self._language, "", known),))
        work = asyncio.ensure_future(self._finish_early(stream, turn_id))
        work.add_done_callback(lambda _: utterance.changed.set())
        told = False
        try:
            while utterance.resumes == resumes:
                if utterance.ended:
                    return await work
                if work.done() and not told:
                    told = True
                    try:
                        await self._tell_early(work.result())
                    except Exception as error:  # noqa: BLE001 - there is another try at the end
                        self._note("early", error)
                        utterance.paused = False
                        await self._tell_early(Transcript(turn_id, ""))
                        return None
                    continue
                utterance.changed.clear()
                await utterance.changed.wait()
            return None
        finally:
            await cancel_and_wait(work)

    async def _finish_early(self, stream: ASRStream, turn_id: int) -> Transcript:
        words = bare(self._cleaned(stream.partial))
        await self._bounded(stream.feed(EARLY_SILENCE), "progress", self._timeouts.asr_feed)
        heard = await self._finish(stream, turn_id)
        self._foretold, self._language = words == bare(heard.text) != "", heard.language
        return heard

    async def _tell_early(self, heard: Transcript) -> None:
        turn_id, text, language = heard.turn_id, heard.text, heard.language
        if turn_id != self._newest:
            return
        self.context.words_due = False
        known = heard.completeness or completeness(text, language or self.context.language)
        if heard.alternatives:
            text = ""  # nothing is answered ahead before the user has said which
        early = EarlyTranscript(turn_id, text, language, heard.emotion, known)
        self.context.early = early
        await self.emit((early,))

    async def _pass_on_partial(self, utterance: _Utterance) -> None:
        words, utterance.partial = self._cleaned(utterance.partial), ""
        # Turn ids never decrease: an earlier utterance that lags behind gives no partials.
        if words and utterance.turn_id == self._newest:
            partial = PartialTranscript(utterance.turn_id, words)
            self.context.partial = partial
            await self.emit((partial,))

    async def _finish(self, stream: ASRStream, turn_id: int) -> Transcript:
        heard = await self._bounded(stream.finish(), "words", self._timeouts.asr)
        return Transcript(
            turn_id,
            self._cleaned(heard.text),
            rejected=heard.rejected,
            confidence=heard.confidence,
            language=heard.language,
            emotion=heard.emotion,
            completeness=heard.completeness,
            guess=self._cleaned(heard.guess),
            alternatives=tuple(
                replace(each, text=self._cleaned(each.text)) for each in heard.alternatives
            ),
        )

    async def _failure(self, utterance: _Utterance, error: Exception) -> Chunk:
        """Report the failure once the user has stopped speaking."""
        self.context.counters.add("asr.failed")
        while not utterance.ended:
            utterance.queue.clear()
            utterance.changed.clear()
            await utterance.changed.wait()
        return turn_failure(utterance.turn_id, self.name, error)

    def _note(self, what: str, error: Exception) -> None:
        self.context.counters.add(f"asr.{what}_failed")
        _log.warning("recogniser failed", extra={"step": what, "error": describe(error)})

    async def _bounded(self, work: Awaitable[T], what: str, seconds: float) -> T:
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError:
            raise ProviderTimeout(self._asr.name, what, seconds) from None

    def _cleaned(self, text: str) -> str:
        """Return the text corrected, bounded and as valid UTF-8: models refuse half a surrogate
        pair."""
        corrected = self._corrections(text.strip()[:MAX_TRANSCRIPT_CHARS])
        return well_formed(corrected[:MAX_TRANSCRIPT_CHARS])
