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
from vixio.language.text.characters import CLAUSES, CLOSERS, count_wide
from vixio.language.text.face_words import emotion_of_words
from vixio.language.text.splitter import Face, Limits, Words
from vixio.stations.speech_text import SpeechText

EXCLAMATION = 12
"""Characters, a wide one as two, of a sentence that is too short to have a face for itself."""


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
    """The text of one reply, and the emotion to show with it.

    The model's emoji counts for its sentence and, like that of a whole answer, for those behind it.
    A sentence in which it wrote none has the face of its own words, if they ask for one
    (:func:`~vixio.language.text.face_words.emotion_of_words`): a guess, which holds for this
    sentence alone. Behind it the model's last emoji is shown again, or the neutral face.
    """

    def __init__(self, limits: Limits, language: str) -> None:
        self._limits = limits
        self._language = language
        self._turn_id = 0
        self._recurring = False
        self._text: SpeechText | None = None
        self._shown_face = ""
        self._model_face = ""
        self._next_face = ""
        self._faced = False  # whether the next sentence has a face
        self._written = False  # whether the model wrote any emoji for it
        self._guessed = False  # whether the face shown is that of words that it goes on with

    def feed(self, delta: TextDelta) -> Iterator[Chunk]:
        if delta.turn_id != self._turn_id:
            yield from self.flush()
            self._turn_id = delta.turn_id
            self._shown_face = self._model_face = ""
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
        self._faced = self._written = self._guessed = False

    def _chunks(self, pieces: Iterable[Words | Face]) -> Iterator[Chunk]:
        for piece in pieces:
            if isinstance(piece, Face):
                self._written = True
                yield from self._face(piece.emoji)
                continue
            yield from self._show(self._face_of(piece))
            self._next_face = ""
            self._faced = False
            yield Sentence(self._turn_id, piece.shown, piece.spoken, self._recurring)

    def _face(self, emoji: str) -> Iterator[Chunk]:
        name = emotion_of(emoji)
        if name is None or self._faced:
            return
        self._faced = True
        if self._model_face:
            # A later face belongs to its sentence; without a sentence it is not shown.
            self._next_face = name
        else:
            self._model_face = name
            yield from self._show(name)

    def _face_of(self, words: Words) -> str:
        """Return the face of a sentence, or of a part of one; "": there was none so far."""
        self._model_face = self._next_face or self._model_face
        written = self._written or words.emoji
        guess = None if written else emotion_of_words(words.shown)
        held = self._shown_face if self._guessed and not written else ""
        goes_on = words.shown.rstrip(CLOSERS)[-1:] in CLAUSES
        short = len(words.shown) + count_wide(words.shown) <= EXCLAMATION
        self._written = written and goes_on
        # An exclamation such as "Sorry!" belongs to the sentence behind it.
        self._guessed = (bool(guess or held) and goes_on) or (guess is not None and short)
        neutral = "neutral" if self._shown_face else ""
        return guess or held or self._model_face or neutral

    def _show(self, name: str) -> Iterator[Chunk]:
        if name and name != self._shown_face:
            self._shown_face = name
            yield Emotion(self._turn_id, name, EMOTIONS[name])
