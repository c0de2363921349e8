"""A value in a command counts only if both recognisers have heard it; else the user is asked."""

from __future__ import annotations

import asyncio

import pytest

from vixio.core.chunk import Alternative
from vixio.language.phrasebook import PhraseBook, signatures
from vixio.providers.asr import Recognition, SpeechHints
from vixio.providers.combined.arbiter import Arbiter
from vixio.providers.combined.provider import CombinedASRProvider
from vixio.providers.combined.values import CommandValues
from vixio.testing import ScriptedASR
from vixio_bench.speech_corpus import VALUE_TOOLS

PHRASES = PhraseBook.load("en").compile(signatures(VALUE_TOOLS))
ARBITER = Arbiter(sure=0.7, agreement=0.75)
TIMER = "set the timer of thirty minutes please"


def chosen(command: str, speech: str, confidence: float = 0.9) -> Recognition:
    """Return what counts of two recognisers' words; empty: nothing was understood."""
    heard = Recognition(speech, rejected=not speech)
    values = CommandValues.of(PHRASES, command)
    return ARBITER.choose(Recognition(command, confidence=confidence), heard, values)


def told(found: Recognition) -> list[str]:
    return [each.told for each in found.alternatives]


@pytest.mark.parametrize(
    ("command", "speech"),
    [
        (TIMER, "Set a timer for thirty minutes, please."),
        (TIMER, "Set a timer for 30 minutes."),
        (TIMER, "Said the timer of 30 minutes, please, would you?"),
        ("wake me at seven thirty a m", "Wake me at 7:30 a.m."),
        ("set the volume to sixteen percent", "Set the volume to 16%."),
        ("set the volume to sixteen", "Set the module to 16."),
        ("remember that my name is anna", "Remember that my name is Anna."),
        ("remember that i like green tea", "Remember, Emma, that I like green tea."),
        ("turn the fan off", "Turn the van off."),
        ("set a timer for half an hour", "Set a timer for half an hour, please."),
        ("mute the sound", "New to the south."),
    ],
)
def test_both_have_heard_the_value(command: str, speech: str) -> None:
    found = chosen(command, speech)
    assert (found.text, told(found)) == (command, [])


@pytest.mark.parametrize(
    ("command", "speech", "expected"),
    [
        (TIMER, "Set a timer for two minutes, please.", ["two minutes", "thirty minutes"]),
        (TIMER, "Set a timer for 2 hours.", ["2 hours", "thirty minutes"]),
        (
            "set the volume to fifty percent",
            "Set the volume to 15%.",
            ["15 percent", "fifty percent"],
        ),
        (
            "set an alarm for six in the morning",
            "Set an alarm for 6 in the evening.",
            ["in the evening", "in the morning"],
        ),
        ("wake me at six fifty", "Wake me at 6:15.", ["15", "fifty"]),
        (
            "wake me at six",
            "Wake me at six fifteen.",
            ["Wake me at six fifteen", "wake me at six"],
        ),
        (
            "set the volume to fifty",
            "Set brightness to fifty.",
            ["Set brightness to fifty", "set the volume to fifty"],
        ),
        (
            "remember that my name is anna",
            "Remember that my name is Hannah.",
            ["my name is Hannah", "my name is anna"],
        ),
        (
            "start a timer of a minute",
            "Start a timer of 18 minutes.",
            ["Start a timer of 18 minutes", "start a timer of a minute"],
        ),
        ("full volume", "Mute the volume.", ["Mute the volume", "full volume"]),
        (TIMER, "Set the time of our tea minutes.", [TIMER]),
        (TIMER, "We have thought of thirteen people.", ["thirteen minutes", "thirty minutes"]),
        (
            "set the volume to twenty three",
            "Said the volume to twenty percent.",
            ["twenty", "twenty three"],
        ),
        (TIMER, "Two timers of three minutes, or what?", [TIMER]),
        (TIMER, "", [TIMER]),
    ],
)
def test_they_have_heard_different_ones(command: str, speech: str, expected: list[str]) -> None:
    found = chosen(command, speech)
    assert told(found) == expected
    assert found.text == found.alternatives[0].text
    assert found.confidence is None


def test_a_number_is_chosen_by_its_words_or_digits() -> None:
    two, thirty = chosen(TIMER, "Set a timer for 2 minutes.").alternatives
    assert two == Alternative("Set a timer for 2 minutes.", "2 minutes", ("2", "two"))
    assert thirty == Alternative(TIMER, "thirty minutes", ("30", "thirty"))


def test_thirty_two_is_not_thirty() -> None:
    assert told(chosen("set the volume to thirty", "Oh, set the volume to thirty two, please do."))


def test_a_command_that_is_less_sure_needs_the_words_as_well() -> None:
    assert chosen(TIMER, "Set a timer for thirty minutes, please.", 0.5).text == TIMER
    assert told(chosen(TIMER, "Set the timer of two minutes, please.", 0.5))
    other = "He came thirty minutes late."
    assert chosen(TIMER, other, 0.5) == Recognition(other)
    assert chosen(TIMER, "", 0.5) == Recognition("", rejected=True, guess=TIMER)


def test_a_command_without_a_value_has_none() -> None:
    assert CommandValues.of(PHRASES, "turn left") is None
    assert CommandValues.of(PHRASES, "the exit phrase of this device") is None


async def heard(provider: CombinedASRProvider) -> Recognition:
    stream = provider.open(SpeechHints(VALUE_TOOLS, "en"))
    try:
        async with asyncio.timeout(30):
            return await stream.finish()
    finally:
        await stream.close()


async def test_free_speech_is_waited_for_where_there_is_a_value() -> None:
    commands = ScriptedASR([Recognition(text, confidence=0.9) for text in (TIMER, "turn left")])
    speech = ScriptedASR(["Set a timer for two minutes."])
    provider = CombinedASRProvider(commands, speech, ARBITER)
    await provider.start()
    speech.delay = 0.05
    assert told(await heard(provider)) == ["two minutes", "thirty minutes"]
    speech.delay = 1_000.0
    assert (await heard(provider)).text == "turn left"
    await provider.close()


async def test_alone_a_command_counts_as_it_is() -> None:
    commands = ScriptedASR([Recognition(TIMER, confidence=0.9)])
    provider = CombinedASRProvider(commands, ScriptedASR([ZeroDivisionError()]), ARBITER)
    await provider.start()
    found = await heard(provider)
    assert (found.text, told(found)) == (TIMER, [])
    await provider.close()
