"""Commands with values: numbers, times and names, and free speech that has numbers, too.

``values-tuning`` is for choosing how the values of a command are checked, ``values`` for stating
figures; they share no sentence, no number, no voice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vixio.core.tools.types import ToolDefinition
from vixio_bench.speech_corpus import held_out, tuning
from vixio_bench.speech_corpus.device import TOOLS, Corpus, Expected, integer, tool

_LENGTH = {name: integer(0, 1_000) for name in ("hours", "minutes", "seconds")}

_TOOLS: tuple[ToolDefinition, ...] = (
    *TOOLS,
    tool("set_timer", "Set a timer.", required=(), **_LENGTH),
    tool("set_reminder", "Remind the user.", required=(), **_LENGTH, text={"type": "string"}),
    tool(
        "set_alarm",
        "Set an alarm.",
        required=("hour",),
        hour=integer(0, 23),
        minute=integer(0, 59),
        half={"type": "string", "enum": ["am", "pm"]},
    ),
)

Sentence = tuple[str, Expected]

_HALVES = {"in the morning": "am", "am": "am", "in the evening": "pm"}


def _timers(numbers: Mapping[str, int], templates: Sequence[str]) -> list[Sentence]:
    return _numbers(numbers, templates, ("set_timer", "set_timer"))


def _numbers(
    numbers: Mapping[str, int],
    templates: Sequence[str],
    meant: tuple[str, str],
    argument: str = "",
) -> list[Sentence]:
    """Return each number in one of the templates, in turn."""
    made: list[Sentence] = []
    for place, (words, number) in enumerate(numbers.items()):
        template = templates[place % len(templates)]
        name = argument or next(each for each in _LENGTH if each.rstrip("s") in template)
        made.append((template.format(words), (*meant, {name: number})))
    return made


def _alarms(times: Mapping[str, tuple[int, ...]], templates: Sequence[str]) -> list[Sentence]:
    made: list[Sentence] = []
    for place, (words, time) in enumerate(times.items()):
        arguments: dict[str, Any] = dict(zip(("hour", "minute"), time, strict=False))
        half = next((value for said, value in _HALVES.items() if words.endswith(said)), "")
        if half:
            arguments["half"] = half
        text = templates[place % len(templates)].format(words)
        made.append((text, ("set_alarm", "set_alarm", arguments)))
    return made


def _facts(facts: Sequence[str]) -> list[Sentence]:
    return [
        (f"remember that {fact}", ("remember_heard", "remember_fact", {"fact": fact}))
        for fact in facts
    ]


VALUES_TUNING = Corpus(
    tuning.SPEAKERS[:3],
    (
        *_timers(
            {"two": 2, "five": 5, "eight": 8, "twelve": 12, "thirteen": 13, "fifteen": 15}
            | {"sixteen": 16, "twenty": 20, "thirty": 30, "forty": 40, "forty five": 45}
            | {"fifty": 50, "sixty": 60, "ninety": 90},
            (
                "set a timer for {} minutes",
                "set a timer for {} minutes please",
                "start a timer for {} seconds",
                "timer for {} minutes",
            ),
        ),
        *_numbers(
            {"two": 2, "thirteen": 13, "thirty": 30, "fifteen": 15, "fifty": 50},
            ("remind me in {} minutes", "please remind me in {} minutes"),
            ("remind", "set_reminder"),
        ),
        *_alarms(
            {"seven": (7,), "five thirty": (5, 30), "eleven in the evening": (11,)}
            | {"six fifteen": (6, 15), "eight in the morning": (8,)},
            ("set an alarm for {}", "wake me up at {}"),
        ),
        *_numbers(
            {"thirteen": 13, "thirty": 30, "sixteen": 16, "sixty": 60, "forty five": 45},
            ("set the volume to {}", "set the volume to {} percent"),
            ("set_volume", "set_volume"),
            "volume",
        ),
        *_numbers(
            {"two": 2, "three": 3},
            ("set the led strip brightness to {}",),
            ("set", "led_strip_set_brightness"),
            "level",
        ),
        *_facts(["my name is anna", "my name is daniel", "i like green tea", "i like coffee"]),
    ),
    (
        "we need thirty more chairs for the party",
        "there are two eggs left in the fridge",
        "the timer for the cake is twelve minutes too short",
        "set a timer that rings when the rice is done",
        "remind my brother of the meeting at five",
        "it takes about fifteen minutes to walk there",
        "how many minutes are in a day",
        "what is thirteen times four",
        "the alarm went off at six this morning",
        "he is fifty years old and runs every day",
        "turn the page to number sixty",
        "call me back in twenty minutes",
        "the volume of this box is forty litres",
        "my daughter daniela likes green apples",
        "i will be home at half past eight",
    ),
    _TOOLS,
)

VALUES = Corpus(
    held_out.SPEAKERS[:3],
    (
        *_timers(
            {"three": 3, "four": 4, "seven": 7, "nine": 9, "ten": 10, "fourteen": 14}
            | {"seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty five": 25}
            | {"thirty five": 35, "fifty five": 55, "seventy": 70, "eighty": 80},
            (
                "set the timer for {} minutes",
                "could you set a timer for {} minutes",
                "create a timer for {} seconds",
                "please start a timer of {} minutes",
            ),
        ),
        *_numbers(
            {"three": 3, "fourteen": 14, "four": 4, "seventeen": 17, "seventy": 70},
            ("can you remind me in {} minutes", "remind me in {} seconds please"),
            ("remind", "set_reminder"),
        ),
        *_alarms(
            {"nine": (9,), "four forty five": (4, 45), "ten in the evening": (10,)}
            | {"seven twenty": (7, 20), "three in the morning": (3,)},
            ("wake me at {}", "please set an alarm at {}"),
        ),
        *_numbers(
            {"fourteen": 14, "seventy": 70, "seventeen": 17, "eighteen": 18, "eighty": 80},
            ("change the volume to {}", "volume {} percent"),
            ("set_volume", "set_volume"),
            "volume",
        ),
        *_numbers(
            {"four": 4, "seven": 7},
            ("change the led strip brightness to {}",),
            ("set", "led_strip_set_brightness"),
            "level",
        ),
        *_facts(["my name is peter", "my name is helen", "i like cheese", "i like jazz"]),
    ),
    (
        "seventeen people came to the concert",
        "i have to read four more pages",
        "a timer is a useful thing in a kitchen",
        "set the table for seven people please",
        "she reminds me of my aunt",
        "the film is eighty minutes long",
        "how many seconds are in three hours",
        "what is nine minus four",
        "nobody heard the alarm last night",
        "my grandmother turned seventy last week",
        "please read chapter nineteen again",
        "i will be with you in ten minutes",
        "eighteen percent of them said no",
        "i forgot the name of that street",
        "the shop opens at nine and closes at seven",
    ),
    _TOOLS,
)
