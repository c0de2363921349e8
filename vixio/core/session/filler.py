"""A few words while the answer takes long: "One moment, please.".

They are made beside the answer, so that they cost it nothing, and played only if it has no words
yet when they are ready. The answer follows in the same speech, without a gap. They are no part of
it: not of the history, nor of what counts as heard.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Final

from vixio.core.chunk import AudioOut, Chunk
from vixio.core.clock import now
from vixio.core.messages import FILLERS, message
from vixio.core.metrics import TurnTimeline
from vixio.core.pacer import Pacer
from vixio.core.session.engine import Engine
from vixio.core.session.reply_audio import ReplyAudio
from vixio.core.session.speech_start import SpeechStart
from vixio.core.station import StationContext
from vixio.core.streams import closing

MAX_AUDIO: Final = 5 * 2 * 48_000
"""Bytes, 5 s at the highest rate: a voice that does not end is not waited for."""

_log = logging.getLogger(__name__)


class Filler:
    """The filler of one reply, played by what plays the reply."""

    def __init__(
        self, timeline: TurnTimeline, start: SpeechStart, pacer: Pacer, audio: ReplyAudio
    ) -> None:
        self.needless = False
        """Whether the answer has begun, or the turn is over. Set by the reply."""
        self.playing = asyncio.Lock()
        """Held while something is put into the speech: the filler, or a piece of the answer."""
        self._timeline = timeline
        self._start = start
        self._pacer = pacer
        self._audio = audio
        self._task: asyncio.Task[None] | None = None

    def start(
        self,
        group: asyncio.TaskGroup,
        after: float,
        limit: float,
        engine: Engine,
        context: StationContext,
    ) -> None:
        """Say the words unless the answer begins within ``after`` seconds of the user's turn.

        ``limit``: seconds to make them in; without a voice there is no filler, nor while the user
        goes on speaking. Its task in ``group`` raises ConnectionClosed.
        """
        self._task = group.create_task(self._run(after, limit, engine, context))

    def cancel(self) -> None:
        """Say nothing any more, also when the voice ignores its cancellation. Idempotent."""
        self.needless = True
        if self._task is not None:
            self._task.cancel()

    async def _run(
        self, after: float, limit: float, engine: Engine, context: StationContext
    ) -> None:
        due = self._timeline.marks.get("turn_end", now()) + after
        await asyncio.sleep(max(0.0, due - now()))
        if self._unwanted:
            return
        words = message(FILLERS[self._timeline.turn_id % len(FILLERS)], context.language)
        turn_id = context.history.next_turn_id()  # its marks are not those of the answer
        try:
            async with asyncio.timeout(limit):
                audio = await _made(engine.speak(turn_id, words, recurring=True))
        except Exception as error:  # noqa: BLE001 - whatever a voice raises; the answer reports it
            _log.debug("filler not spoken", extra={"error": type(error).__name__})
            return
        finally:
            context.end_timeline(turn_id)
        if audio and not self._unwanted:
            await self._play(words, audio)

    @property
    def _unwanted(self) -> bool:
        return self.needless or self._start.user_speaks()

    async def _play(self, words: str, audio: list[AudioOut]) -> None:
        await self._start.take()
        async with self.playing:
            if self.needless:
                return
            self._timeline.mark("filler", now())
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
