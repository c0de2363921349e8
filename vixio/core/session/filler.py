"""A few words while the answer takes long: "One moment, please.".

They are made beside the answer, so that they cost it nothing, and played only if it has no words
yet when they are ready. The answer follows in the same speech, without a gap. They are no part of
it: not of the history, nor of what counts as heard.

Later a speech may fall silent, behind these words or the answer's own: a tool hangs, or a model.
The device stays in Speaking with its microphone off, so a few words are said again.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncIterator
from typing import Final

from vixio.core.chunk import AudioOut, Chunk, Sentence, SpeechAhead, ToolCalled
from vixio.core.clock import now
from vixio.core.messages import FILLERS, FILLERS_AGAIN, message
from vixio.core.metrics import TurnTimeline
from vixio.core.pacer import Pacer
from vixio.core.session.engine import Engine
from vixio.core.session.reply_audio import ReplyAudio
from vixio.core.session.speech_start import SpeechStart
from vixio.core.station import StationContext
from vixio.core.streams import closing

SILENT_S: Final = 8.0
"""Silence in a speech, after which words are said again; each further time after twice as much."""

RETRY_S: Final = 1.0
"""Until it is looked again whether words are due, where silence alone is not enough."""

MAX_AUDIO: Final = 5 * 2 * 48_000
"""Bytes, 5 s at the highest rate: a voice that does not end is not waited for."""

_log = logging.getLogger(__name__)


class Filler:
    """The filler of one reply, played by what plays the reply.

    ``limit``: seconds that the voice may take for the next audio of a sentence, or for a filler.
    """

    def __init__(
        self,
        timeline: TurnTimeline,
        start: SpeechStart,
        pacer: Pacer,
        audio: ReplyAudio,
        limit: float,
    ) -> None:
        self.over = False
        """Whether nothing more is to be said: there will be no answer, or no more of it."""
        self.playing = asyncio.Lock()
        """Held while something is put into the speech: the filler, or a piece of the answer."""
        self._timeline = timeline
        self._start = start
        self._pacer = pacer
        self._audio = audio
        self._limit = limit
        self._begun = False
        self._voice_until = 0.0
        self._task: asyncio.Task[None] | None = None

    def start(
        self,
        group: asyncio.TaskGroup,
        after: float | None,
        engine: Engine,
        context: StationContext,
    ) -> None:
        """Say the words unless the answer begins within ``after`` seconds of the user's turn.

        None: never, but in a speech that has begun. Without a voice there is no filler, nor while
        the user goes on speaking. Its task in ``group`` raises ConnectionClosed.
        """
        self._task = group.create_task(self._run(after, engine, context))

    def note(self, chunk: Chunk) -> None:
        """Take note of the answer's next chunk."""
        if isinstance(chunk, SpeechAhead | Sentence | AudioOut):
            self._begun = True
            self._voice_until = now() + self._limit
        elif isinstance(chunk, ToolCalled):
            self._voice_until = 0.0  # it comes behind the audio of the words before it

    def cancel(self) -> None:
        """Say nothing any more, also when the voice ignores its cancellation. Idempotent."""
        self.over = True
        if self._task is not None:
            self._task.cancel()

    async def _run(self, after: float | None, engine: Engine, context: StationContext) -> None:
        if after is not None:
            due = self._timeline.marks.get("turn_end", now()) + after
            await asyncio.sleep(max(0.0, due - now()))
            await self._say_first(engine, context)
        silent = SILENT_S
        for key in itertools.cycle(FILLERS_AGAIN):
            while not self._silent_for(silent):
                if self.over:
                    return  # also where the voice has ignored the cancellation
                left = self._silent_since + silent - now()
                await asyncio.sleep(left if left > 0 else RETRY_S)
            await self._say_again(key, silent, engine, context)
            silent *= 2

    async def _say_first(self, engine: Engine, context: StationContext) -> None:
        if self._unwanted():
            return
        words = message(FILLERS[self._timeline.turn_id % len(FILLERS)], context.language)
        audio = await self._make(words, engine, context)
        if not audio or self._unwanted():
            return
        await self._start.take()
        async with self.playing:
            if not self._needless():
                self._timeline.mark("filler", now())
                await self._play(words, audio)

    async def _say_again(
        self, key: str, silent: float, engine: Engine, context: StationContext
    ) -> None:
        words = message(key, context.language)
        audio = await self._make(words, engine, context)
        async with self.playing:
            if audio and self._silent_for(silent):
                await self._audio.flush()  # the end of the last packet of the words before
                await self._play(words, audio)

    def _needless(self) -> bool:
        return self._begun or self.over

    def _unwanted(self) -> bool:
        return self._needless() or self._start.user_speaks()

    @property
    def _silent_since(self) -> float:
        return max(self._pacer.plays_until, self._pacer.started_at or 0.0)

    def _silent_for(self, seconds: float) -> bool:
        """Whether the device speaks without a sound for that long, and no sound is on its way."""
        return (
            self._pacer.started
            and not (self.over or self._pacer.unsent_ms or self._start.user_speaks())
            and now() >= max(self._silent_since + seconds, self._voice_until)
        )

    async def _make(self, words: str, engine: Engine, context: StationContext) -> list[AudioOut]:
        turn_id = context.history.next_turn_id()  # its marks are not those of the answer
        try:
            async with asyncio.timeout(self._limit):
                return await _made(engine.speak(turn_id, words, recurring=True))
        except Exception as error:  # noqa: BLE001 - whatever a voice raises; the answer reports it
            _log.debug("filler not spoken", extra={"error": type(error).__name__})
            return []
        finally:
            context.end_timeline(turn_id)

    async def _play(self, words: str, audio: list[AudioOut]) -> None:
        await self._pacer.put_sentence(words, kept=False)
        for piece in audio:
            await self._audio.put(piece.pcm, piece.sample_rate)
        await self._audio.flush()


async def _made(stream: AsyncIterator[Chunk]) -> list[AudioOut]:
    """Return the audio of a stream; none of one that does not end."""
    audio: list[AudioOut] = []
    size = 0
    async with closing(stream) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, AudioOut):
                audio.append(chunk)
                size += len(chunk.pcm)
                if size > MAX_AUDIO:
                    return []
    return audio
