"""What the station does with chunks, and that Vixio finds it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import SimpleNamespace

import pytest
from pydantic import ValidationError
from vixio_words.station import FACTORY, WordsSettings, WordsStation

from vixio.core.chunk import Chunk, Sentence, SpeechAhead
from vixio.core.metrics import Counters
from vixio.stations.registry import resolve


def test_vixio_finds_it_by_its_name() -> None:
    assert resolve("words") is FACTORY


async def said(station: WordsStation, *chunks: Chunk) -> list[Chunk]:
    async def upstream() -> AsyncIterator[Chunk]:
        for chunk in chunks:
            yield chunk

    station.context = SimpleNamespace(counters=Counters())  # type: ignore[assignment]  # all it uses
    return [chunk async for chunk in station.run(upstream())]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Damn, that is hot.", "darn, that is hot."),
        ("The dam is damned.", "The dam is damned."),
        ("damn it, DAMN!", "darn it, darn!"),
        ("C++ is fine.", "a language is fine."),
    ],
)
@pytest.mark.asyncio
async def test_whole_words_are_replaced(text: str, expected: str) -> None:
    station = WordsStation(WordsSettings(replace={"damn": "darn", "C++": "a language"}))
    assert await said(station, Sentence(1, text, text)) == [Sentence(1, expected, expected)]


@pytest.mark.asyncio
async def test_the_display_can_keep_the_word() -> None:
    station = WordsStation(WordsSettings(replace={"vixio": "viksio"}, shown=False))
    sentence = Sentence(1, "I am Vixio.", "I am Vixio.")
    assert await said(station, sentence) == [Sentence(1, "I am Vixio.", "I am viksio.")]


@pytest.mark.asyncio
async def test_everything_else_passes() -> None:
    station = WordsStation(WordsSettings(replace={"a": "b"}))
    assert await said(station, SpeechAhead(1)) == [SpeechAhead(1)]


@pytest.mark.parametrize("wrong", [{}, {"replace": {}}, {"replace": {"a": "b"}, "show": True}])
def test_a_wrong_setting_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        WordsSettings.model_validate(wrong)
