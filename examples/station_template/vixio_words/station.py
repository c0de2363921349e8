"""The station: settings, what it does, and the factory that the entry point names.

This module is imported to check the settings, so it imports nothing slow.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from vixio.core.chunk import Chunk, Sentence
from vixio.core.station import ReplyStation
from vixio.stations.registry import StationFactory


class WordsSettings(BaseModel):
    """Options of an entry of ``stations`` whose name is ``words``.

    ``extra="forbid"`` turns a mistyped key into one line that says so.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    replace: dict[str, str] = Field(min_length=1)
    """Words, in any case, and what is said in their place."""
    shown: bool = True
    """Also on the display; false for a word that the voice pronounces wrongly."""


class WordsStation(ReplyStation):
    """Replaces whole words in each sentence, between the sentence aggregator and the voice."""

    name = "words"
    answers_ahead = True
    """Nothing but the stream comes of it."""

    def __init__(self, settings: WordsSettings) -> None:
        self._shown = settings.shown
        self._words = {word.casefold(): other for word, other in settings.replace.items()}
        longest_first = sorted(settings.replace, key=len, reverse=True)
        self._pattern = re.compile(
            rf"(?<!\w)({'|'.join(map(re.escape, longest_first))})(?!\w)", re.IGNORECASE
        )

    async def run(self, upstream: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
        """Change sentences, and pass on everything else.

        ``aclosing``: an interruption closes this stream, and so the model's behind it.
        """
        async with aclosing(upstream) as chunks:  # type: ignore[type-var]  # a generator, as ours
            async for chunk in chunks:
                yield self._changed(chunk) if isinstance(chunk, Sentence) else chunk

    def _changed(self, sentence: Sentence) -> Sentence:
        spoken = self._replaced(sentence.spoken)
        shown = self._replaced(sentence.text) if self._shown else sentence.text
        if (spoken, shown) != (sentence.spoken, sentence.text):
            self.context.counters.add("words.sentences_changed")
        return replace(sentence, spoken=spoken, text=shown)

    def _replaced(self, text: str) -> str:
        return self._pattern.sub(lambda match: self._words[match[0].casefold()], text)


FACTORY = StationFactory(
    settings_model=WordsSettings,
    station=WordsStation,
    create=WordsStation,
    after="sentences",
)
"""In the settings ``after`` and ``before`` can put it elsewhere."""
