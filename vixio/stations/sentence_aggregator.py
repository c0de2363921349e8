"""Collects the model's text into sentences, so that speech begins with the first clause."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator

from vixio.core.chunk import (
    Chunk,
    Emotion,
    Sentence,
    SpeechAhead,
    TextDelta,
    ToolCalled,
    TurnFailed,
)
from vixio.core.emotions import EMOTIONS, emotion_of
from vixio.core.station import Emit, ReplyStation, StationContext
from vixio.core.streams import closing
from vixio.language.text.splitter import Face, Limits, Words
from vixio.stations.speech_text import SpeechText


class SentenceAggregatorStation(ReplyStation):
    """TextDelta in; SpeechAhead, Emotion and Sentence out. Everything else passes through.

    Text before a tool call or a failure is spoken before it, so waiting text is emitted there,
    complete or not.
    """

    name = "sentences"
    answers_ahead = True

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._speaking: StationContext | None = None

    def bind(self, context: StationContext, emit: Emit) -> None:
        """See :meth:`~vixio.core.station.Station.bind`; without a session no language is known."""
        super().bind(context, emit)
        self._speaking = context

    async def run(self, upstream: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
        """Collect sentences; the last one is emitted when ``upstream`` ends."""
        reply = _Reply(self._limits, self._speaking.language if self._speaking else "")
        words_came = False
        async with closing(upstream) as chunks:
            async for chunk in chunks:
                if isinstance(chunk, TextDelta):
                    if chunk.text and not words_came:
                        words_came = True
                        yield SpeechAhead(chunk.turn_id)
                    if chunk.complete:
                        for piece in reply.flush():
                            yield piece
                    for piece in reply.feed(chunk):
                        yield piece
                    if chunk.complete:
                        for piece in reply.flush():
                            yield piece
                    continue
                if isinstance(chunk, ToolCalled | TurnFailed):
                    for piece in reply.flush():
                        yield piece
                yield chunk
            for piece in reply.flush():
                yield piece


class _Reply:
    """The text of one reply, and the emotion to show with it."""

    def __init__(self, limits: Limits, language: str) -> None:
        self._limits = limits
        self._language = language
        self._turn_id = 0
        self._recurring = False
        self._text: SpeechText | None = None
        self._shown_face = ""
        self._next_face = ""
        self._faced = False  # whether the next sentence has a face

    def feed(self, delta: TextDelta) -> Iterator[Chunk]:
        if delta.turn_id != self._turn_id:
            yield from self.flush()
            self._turn_id = delta.turn_id
            self._shown_face = ""
        if self._text is None:
            self._text = SpeechText(self._limits, self._language)
            self._recurring = delta.recurring
        yield from self._chunks(self._text.feed(delta.text))

    def flush(self) -> Iterator[Chunk]:
        """Yield the waiting text; later text starts a new stretch."""
        if self._text is not None:
            yield from self._chunks(self._text.finish())
        self._text = None
        self._next_face = ""
        self._faced = False

    def _chunks(self, pieces: Iterable[Words | Face]) -> Iterator[Chunk]:
        for piece in pieces:
            if isinstance(piece, Face):
                yield from self._face(piece.emoji)
                continue
            if self._next_face:
                yield from self._show(self._next_face)
            self._next_face = ""
            self._faced = False
            yield Sentence(self._turn_id, piece.shown, piece.spoken, self._recurring)

    def _face(self, emoji: str) -> Iterator[Chunk]:
        name = emotion_of(emoji)
        if name is None or self._faced:
            return
        self._faced = True
        if self._shown_face:
            # A later face belongs to its sentence; without a sentence it is not shown.
            self._next_face = name
        else:
            yield from self._show(name)

    def _show(self, name: str) -> Iterator[Chunk]:
        if name != self._shown_face:
            self._shown_face = name
            yield Emotion(self._turn_id, name, EMOTIONS[name])
