"""Sentences for a home: what each calls, in English and in Chinese."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.language.phrasebook.tools import LAMP
from vixio.core.errors import UNAVAILABLE, ToolError
from vixio.core.tools.types import ToolCallResult
from vixio.language.phrasebook import Call, CompiledPhrases, PhraseBook, signatures
from vixio.tools.home_assistant.definitions import definitions
from vixio.tools.home_assistant.entities import Entity
from vixio.tools.home_assistant.home import HomeAssistant
from vixio_bench.home_assistant import CHINESE, ENGLISH, Thing


def phrases(language: str, things: tuple[Thing, ...]) -> CompiledPhrases:
    entities = [
        Entity(
            tuple(each.names.split(", ")),
            each.domain,
            each.state,
            tuple(each.areas.split(", ")) if each.areas else (),
            each.attributes,
        )
        for each in things
        if each.exposed
    ]
    caller = HomeAssistant("home", 1.0, asking=True)
    return PhraseBook.load(language).compile(
        signatures(definitions(entities, "home", caller, 1.0, None))
    )


ENGLISH_BOOK = phrases("en", ENGLISH)
CHINESE_BOOK = phrases("zh", CHINESE)

LIGHT = {"kind": "light"}
ENGLISH_CALLS: list[tuple[str, str, dict[str, Any]]] = [
    (
        "Turn on the light in the kitchen.",
        "switch",
        {"action": "on", "area": "Kitchen", "kind": "light"},
    ),
    ("turn the kitchen lights off", "switch", {"action": "off", "area": "Kitchen", **LIGHT}),
    ("please turn off the ceiling lamp", "switch", {"action": "off", "name": "Ceiling Lamp"}),
    ("switch the big light on", "switch", {"action": "on", "name": "Big Light"}),
    (
        "turn on the floor lamp in the living room",
        "switch",
        {"action": "on", "name": "Floor Lamp", "area": "Living Room"},
    ),
    ("turn off all the lights", "switch", {"action": "off", "all": True, **LIGHT}),
    ("turn on the light", "switch", {"action": "on", **LIGHT}),
    ("activate movie night", "switch", {"action": "on", "name": "Movie Night"}),
    ("open the blinds", "switch", {"action": "open", "kind": "cover", "all": True}),
    (
        "close the curtains in the lounge",
        "switch",
        {"action": "close", "kind": "cover", "all": True, "area": "Lounge"},
    ),
    ("open the garage door", "switch", {"action": "open", "name": "Garage Door"}),
    ("unlock the front door", "switch", {"action": "unlock", "name": "Front Door"}),
    (
        "set the bedroom to 21 degrees",
        "adjust",
        {"quantity": "temperature", "area": "Bedroom", "value": 21},
    ),
    (
        "set the heating in the bedroom to twenty one degrees",
        "adjust",
        {"quantity": "temperature", "area": "Bedroom", "value": 21},
    ),
    (
        "dim the lights to 30 percent",
        "adjust",
        {"quantity": "brightness", "all": True, "value": 30},
    ),
    (
        "dim the bedside lamp to thirty percent",
        "adjust",
        {"quantity": "brightness", "name": "Bedside Lamp", "value": 30},
    ),
    (
        "set the roller blinds to 50%",
        "adjust",
        {"quantity": "position", "name": "Roller Blinds", "value": 50},
    ),
    (
        "set the volume of the television to 20 percent",
        "adjust",
        {"quantity": "volume", "name": "Television", "value": 20},
    ),
    ("is the front door locked", "state", {"about": "state", "name": "Front Door"}),
    ("are the lights in the kitchen on", "state", {"about": "state", "area": "Kitchen", **LIGHT}),
    (
        "what is the temperature in the living room",
        "state",
        {"about": "temperature", "area": "Living Room"},
    ),
    (
        "what is the bedroom temperature",
        "state",
        {"about": "temperature", "area": "Bedroom"},
    ),
    ("turn on the disco ball", "state", {"about": "state", "name": "disco ball"}),
    ("unlock the fridge", "state", {"about": "state", "name": "fridge"}),
]
CHINESE_CALLS: list[tuple[str, str, dict[str, Any]]] = [
    ("打开厨房的灯", "switch", {"action": "on", "area": "厨房", **LIGHT}),
    ("请把厨房的灯关了", "switch", {"action": "off", "area": "厨房", **LIGHT}),
    ("帮我把吸顶灯关掉", "switch", {"action": "off", "name": "吸顶灯"}),
    ("打开大灯", "switch", {"action": "on", "name": "大灯"}),
    ("关掉所有的灯", "switch", {"action": "off", "all": True, **LIGHT}),
    ("开灯", "switch", {"action": "on", **LIGHT}),
    ("打开窗帘", "switch", {"action": "open", "kind": "cover", "all": True}),
    (
        "把客厅的窗帘拉上",
        "switch",
        {"action": "close", "kind": "cover", "all": True, "area": "客厅"},
    ),
    ("打开前门", "switch", {"action": "unlock", "name": "前门"}),
    ("把卧室的温度调到21度", "adjust", {"quantity": "temperature", "area": "卧室", "value": 21}),
    ("把卧室调到二十一度", "adjust", {"quantity": "temperature", "area": "卧室", "value": 21}),
    ("把床头灯调到30%", "adjust", {"quantity": "brightness", "name": "床头灯", "value": 30}),
    (
        "把客厅的灯调到百分之三十",
        "adjust",
        {"quantity": "brightness", "all": True, "area": "客厅", "value": 30},
    ),
    ("前门锁了吗", "state", {"about": "state", "name": "前门"}),
    ("客厅多少度", "state", {"about": "temperature", "area": "客厅"}),
    ("客厅的温度是多少", "state", {"about": "temperature", "area": "客厅"}),
    ("打開廚房的燈", "switch", {"action": "on", "area": "厨房", **LIGHT}),
    ("打开迪斯科球", "state", {"about": "state", "name": "迪斯科球"}),
]


@pytest.mark.parametrize(
    ("book", "text", "tool", "arguments"),
    [
        *((ENGLISH_BOOK, *row) for row in ENGLISH_CALLS),
        *((CHINESE_BOOK, *row) for row in CHINESE_CALLS),
    ],
)
def test_a_sentence_calls(
    book: CompiledPhrases, text: str, tool: str, arguments: dict[str, Any]
) -> None:
    match = book.match(text)
    assert match is not None
    step = match.proceed()
    assert isinstance(step, Call)
    assert step == Call(f"home_{tool}", arguments)


@pytest.mark.parametrize(
    ("book", "text", "result", "said"),
    [
        (
            ENGLISH_BOOK,
            "is the front door locked",
            '{"state": "locked"}',
            "The front door is locked.",
        ),
        (ENGLISH_BOOK, "turn on the ceiling lamp", '{"done": []}', "Okay, ceiling lamp is on."),
        (
            ENGLISH_BOOK,
            "are the kitchen lights on",
            '{"states": [["Ceiling Lamp", "on"], ["Counter Light", "off"]]}',
            "Ceiling Lamp on, Counter Light off.",
        ),
        (
            ENGLISH_BOOK,
            "how warm is it in the lounge",
            '{"state": "21.5 °C"}',
            "It is 21.5 °C in the lounge.",
        ),
        (CHINESE_BOOK, "前门锁了吗", '{"state": "unlocked"}', "前门没锁。"),
        (CHINESE_BOOK, "打开厨房的灯", '{"done": []}', "厨房的灯开了。"),
        (CHINESE_BOOK, "厨房的灯开着吗", '{"states": [["吸顶灯", "on"]]}', "吸顶灯开着。"),
    ],
)
def test_the_answer(book: CompiledPhrases, text: str, result: str, said: str) -> None:
    match = book.match(text)
    assert match is not None
    assert match.reply(result) == said


def test_what_a_tool_tells_the_user_is_said() -> None:
    match = ENGLISH_BOOK.match("turn on the light in the kitchen")
    assert match is not None
    answer = ToolCallResult.failure(ToolError(UNAVAILABLE, "Nobody is at home.")).for_model()
    assert match.reply(answer) == "Nobody is at home."
    assert match.failed([answer])


def words(text: str) -> list[str]:
    return text.split()


def test_the_recogniser_hears_names_and_rooms_and_nothing_unknown() -> None:
    grammar = ENGLISH_BOOK.grammar()
    assert grammar.accepts(words("turn on the counter light in the kitchen"))
    assert grammar.accepts(words("set the bedroom to twenty one degrees please"))
    assert not grammar.accepts(words("turn on the disco ball"))
    assert not grammar.accepts(words("turn on the light in the cellar"))
    spoken = CHINESE_BOOK.grammar()
    assert spoken.accepts(list("打开厨房的灯"))
    assert not spoken.accepts(list("打开阳台的灯"))


def test_a_devices_own_lamp_comes_before_a_light_that_has_no_room() -> None:
    caller = HomeAssistant("home", 1.0, asking=True)
    book = PhraseBook.load("en").compile([*LAMP, *signatures(caller.tools())])
    own = book.match("turn on the lamp")
    assert own is not None
    assert own.tool == "self_lamp_turn_on"
    other = book.match("turn on the lights")
    assert other is not None
    assert other.tool == "home_switch"


def test_the_help_names_what_is_there() -> None:
    assert "turn on the light in the kitchen" in ENGLISH_BOOK.examples()
    assert "打开厨房的灯" in CHINESE_BOOK.examples()
    nothing = phrases("en", ())
    assert not [each for each in nothing.examples() if "{" in each or "light" in each]
