"""The station: deltas in, emotions and sentences out; other chunks pass in order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any

import pytest

from vixio.core.chunk import (
    Chunk,
    Emotion,
    Sentence,
    SpeechAhead,
    TextDelta,
    ToolCalled,
    ToolReturned,
    TurnFailed,
)
from vixio.core.history import History
from vixio.core.metrics import Counters
from vixio.core.station import StationContext
from vixio.core.tools.toolset import ToolSet
from vixio.stations.sentence_aggregator import SentenceAggregatorStation

CALL = ToolCalled(1, "c1", "self.lamp.turn_on", "{}")
RETURN = ToolReturned(1, "c1", "true", success=True, seconds=0.1)
HAPPY = Emotion(1, "happy", "🙂")
SAD = Emotion(1, "sad", "😔")
THINKING = Emotion(1, "thinking", "🤔")
NEUTRAL = Emotion(1, "neutral", "😶")


def said(text: str, turn_id: int = 1) -> Sentence:
    return Sentence(turn_id, text, text)


async def run(*chunks: Chunk | str) -> list[Chunk]:
    async def upstream() -> AsyncIterator[Chunk]:
        for chunk in chunks:
            yield TextDelta(1, chunk) if isinstance(chunk, str) else chunk

    out = [chunk async for chunk in SentenceAggregatorStation().run(upstream())]
    return [chunk for chunk in out if not isinstance(chunk, SpeechAhead)]


async def speech(text: str, language: str) -> str:
    """Return what a voice says, in a session with a language."""

    async def upstream() -> AsyncIterator[Chunk]:
        yield TextDelta(1, text)

    async def emit(chunks: Sequence[Chunk]) -> None:
        raise AssertionError(f"nothing is emitted here: {chunks}")

    def spawn(work: Coroutine[Any, Any, None]) -> None:
        raise AssertionError("nothing runs beside it")

    station = SentenceAggregatorStation()
    context = StationContext("s", "d", History(), ToolSet(), Counters(), spawn, language)
    station.bind(context, emit)
    out = [chunk async for chunk in station.run(upstream())]
    return " ".join(chunk.spoken for chunk in out if isinstance(chunk, Sentence))


async def test_a_formula_is_spoken_in_the_language_of_the_session() -> None:
    formula = r"\(3 \times 4\)"
    assert await speech(formula, "en") == "3 times 4"
    assert await speech(formula, "zh") == "3乘4"
    assert await speech(formula, "de") == "3 × 4"


async def test_sentences_and_the_rest_at_the_end() -> None:
    assert await run("Hello", " you. How a", "re you") == [said("Hello you."), said("How are you")]


async def test_what_was_said_before_a_tool_call_stands_before_it() -> None:
    assert await run("One mom", "ent", CALL, RETURN, "Done", ".") == [
        THINKING,
        said("One moment"),
        CALL,
        RETURN,
        NEUTRAL,
        said("Done."),
    ]


async def test_what_was_said_before_a_failure_stands_before_it() -> None:
    failed = TurnFailed(1, "agent", "gone")
    assert await run("I would", failed) == [said("I would"), failed]


async def test_other_chunks_pass_without_ending_the_sentence() -> None:
    assert await run("I am", HAPPY, " here.") == [HAPPY, said("I am here.")]


async def test_the_first_clause_after_a_tool_call_is_early_again() -> None:
    text = "I look it up for you, please wait."
    clauses = [said("I look it up for you,"), said("please wait.")]
    assert await run(text, CALL, text) == [*clauses, CALL, *clauses]


async def test_a_code_block_ends_with_its_stretch_of_text() -> None:
    assert await run("Run.\n```\ncode", CALL, "Done.") == [said("Run."), CALL, said("Done.")]


@pytest.mark.parametrize(
    "text", ["😀 Hi!", "[happy] Hi!", " 😀🎉 Hi!", "🪚😀😢 Hi!", "[happy] 😢 Hi!"]
)
async def test_a_leading_emoji_is_the_face(text: str) -> None:
    assert await run(*text) == [HAPPY, said("Hi!")]


async def test_the_face_does_not_wait_for_the_sentence() -> None:
    station = SentenceAggregatorStation()
    seen: list[Chunk] = []

    async def upstream() -> AsyncIterator[Chunk]:
        yield TextDelta(1, "😀 H")
        assert seen == [SpeechAhead(1), HAPPY]
        yield TextDelta(1, "i")

    async for chunk in station.run(upstream()):
        seen.append(chunk)  # noqa: PERF401 - upstream looks at what came so far
    assert seen == [SpeechAhead(1), HAPPY, said("Hi")]


async def test_the_first_words_are_told_at_once_and_once() -> None:
    station = SentenceAggregatorStation()
    seen: list[Chunk] = []

    async def upstream() -> AsyncIterator[Chunk]:
        yield TextDelta(1, "")
        assert seen == []
        yield TextDelta(1, "On")
        assert seen == [SpeechAhead(1)]
        yield TextDelta(1, "e. Two.")

    async for chunk in station.run(upstream()):
        seen.append(chunk)  # noqa: PERF401 - upstream looks at what came so far
    assert seen == [SpeechAhead(1), said("One."), said("Two.")]


async def test_a_later_sentence_with_another_face() -> None:
    sad = Emotion(1, "crying", "😭")
    assert await run("😀 Hi! 😢 Oh no. 😢 So sad. And 😀 within.") == [
        HAPPY,
        said("Hi!"),
        sad,
        said("Oh no."),
        said("So sad."),
        said("And within."),
    ]


async def test_a_face_without_a_sentence() -> None:
    assert await run("😀") == [HAPPY]
    assert await run("Bye! 😀") == [said("Bye!"), HAPPY]
    assert await run("😀 Bye! 😢") == [HAPPY, said("Bye!")]
    assert await run("Hello 🪚.") == [said("Hello.")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The face of a sentence's own words holds for this sentence.
        ("I am so sorry. It rains.", [SAD, said("I am so sorry."), NEUTRAL, said("It rains.")]),
        ("It rains. I am sorry.", [said("It rains."), SAD, said("I am sorry.")]),
        ("非常非常抱歉。今天有雨。", [SAD, said("非常非常抱歉。"), NEUTRAL, said("今天有雨。")]),
        # Its parts, and an exclamation in front of another sentence, are not for themselves.
        (
            "I am so very sorry, it rains. And rains.",
            [SAD, said("I am so very sorry,"), said("it rains."), NEUTRAL, said("And rains.")],
        ),
        ("Sorry! It rains.", [SAD, said("Sorry!"), said("It rains.")]),
        ("Sorry! I'm glad.", [SAD, said("Sorry!"), HAPPY, said("I'm glad.")]),
        # The model's emoji is stronger in its sentence, and comes back behind another one.
        ("🙂 I am sorry. It rains.", [HAPPY, said("I am sorry."), said("It rains.")]),
        ("[happy] I am sorry.", [HAPPY, said("I am sorry.")]),
        ("🙂 I am so sorry for you, so sorry.", [HAPPY, said("I am so sorry for you,"),
                                               said("so sorry.")]),
        ("🪚 I am sorry.", [said("I am sorry.")]),
        ("I am 🙂 sorry.", [said("I am sorry.")]),
        (
            "🙂 It rains. I am sorry for that. It rains on.",
            [HAPPY, said("It rains."), SAD, said("I am sorry for that."), HAPPY,
             said("It rains on.")],
        ),
        ("I am sorry. 🙂 It rains.", [SAD, said("I am sorry."), HAPPY, said("It rains.")]),
        ("I am sorry. 🙂", [SAD, said("I am sorry."), HAPPY]),
    ],
)  # fmt: skip
async def test_a_sentence_without_an_emoji_has_the_face_of_its_words(
    text: str, expected: list[Chunk]
) -> None:
    assert await run(text) == expected
    assert await run(*text) == expected


async def test_another_turn_is_another_reply() -> None:
    assert await run("😀 One", TextDelta(2, "😀 Two")) == [
        HAPPY,
        said("One"),
        Emotion(2, "happy", "🙂"),
        said("Two", 2),
    ]


async def test_nothing_speakable_gives_no_sentence() -> None:
    assert await run("", "…", "\n---\n", "```\ncode\n```") == []


async def test_closing_the_station_closes_the_model() -> None:
    closed: list[bool] = []

    async def upstream() -> AsyncIterator[Chunk]:
        try:
            while True:
                yield TextDelta(1, "And so on. ")
        finally:
            closed.append(True)

    stream = SentenceAggregatorStation().run(upstream())
    assert await anext(stream) == SpeechAhead(1)
    assert await anext(stream) == said("And so on.")
    await stream.aclose()  # type: ignore[attr-defined] # run is an async generator
    assert closed == [True]


async def test_an_error_of_the_model_goes_on_to_the_reply() -> None:
    async def upstream() -> AsyncIterator[Chunk]:
        yield TextDelta(1, "Hello. I")
        raise ConnectionError

    stream = SentenceAggregatorStation().run(upstream())
    assert await anext(stream) == SpeechAhead(1)
    assert await anext(stream) == said("Hello.")
    with pytest.raises(ConnectionError):
        await anext(stream)
