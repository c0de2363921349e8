from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.language.phrasebook.tools import BOARD, COMMON, STATUS, THEME, VOLUME, integer, tool
from vixio.core.messages import message
from vixio.core.tools.types import SPOKEN_NOTE, USERS_WORDS
from vixio.language.phrasebook import Call, CompiledPhrases, PhraseBook

STATUS_JSON = json.dumps(
    {
        "audio_speaker": {"volume": 95},
        "screen": {"brightness": 40, "theme": "dark"},
        "network": {"type": "wifi", "signal": "strong"},
    }
)


@pytest.fixture(scope="module")
def phrases() -> CompiledPhrases:
    return PhraseBook.load("en-US").compile([*COMMON, *BOARD])


@pytest.mark.parametrize(
    ("text", "tool_end", "arguments"),
    [
        ("Set the volume to thirty percent", "set_volume", {"volume": 30}),
        ("set volume to 30%!", "set_volume", {"volume": 30}),
        ("Please, can you turn the volume down to forty-two?", "set_volume", {"volume": 42}),
        ("VOLUME FIFTY", "set_volume", {"volume": 50}),
        ("mute the speaker", "set_volume", {"volume": 0}),
        ("What’s the volume?", "get_device_status", {}),
        ("whats the battery level", "get_device_status", {}),
        ("hey, what time is it", "get_time", {}),
        ("what day is it today", "get_date", {}),
        ("switch to the dark theme", "set_theme", {"theme": "dark"}),
        ("what do you see", "take_photo", {"question": "What do you see?"}),
        (
            "Take a photo and tell me what colour my Hat is?",
            "take_photo",
            {"question": "what colour my Hat is"},
        ),
        ("turn on the lamp", "lamp_turn_on", {}),
        ("switch the lamp off please", "lamp_turn_off", {}),
        ("what is the state of the lamp", "lamp_get_state", {}),
        ("lamp state", "lamp_get_state", {}),
        ("set the brightness of the led strip to 5", "led_strip_set_brightness", {"level": 5}),
        ("make the light blue", "light_set_rgb", {"r": 0, "g": 0, "b": 255}),
        ("go forward", "chassis_go_forward", {}),
        ("make the chassis dance", "chassis_dance", {}),
        ("dog walk twenty steps", "dog_walk", {"steps": 20}),
        ("make the dog walk", "dog_walk", {}),
        ("turn the fan on", "fan_set_power", {"on": True}),
        ("set the fan mode to night mode", "fan_set_mode", {"mode": "night_mode"}),
        ("feed the fish", "aquarium_feed", {}),
    ],
)
def test_a_sentence_calls_its_tool(
    phrases: CompiledPhrases, text: str, tool_end: str, arguments: dict[str, Any]
) -> None:
    match = phrases.match(text)
    assert match is not None
    step = match.proceed()
    assert isinstance(step, Call)
    assert step.tool.endswith(tool_end)
    assert step.arguments == arguments


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?!",
        "is it raining",
        "set the volume",
        "set the volume to banana",
        "set the volume to one hundred and one",
        "set the volume to 101",
        "led strip brightness nine",
        "set the theme to purple",
        "turn on the lamp and the fan",
        "volume " * 100,
    ],
)
def test_anything_else_is_not_understood(phrases: CompiledPhrases, text: str) -> None:
    assert phrases.match(text) is None


def test_plain_intents_answer_without_a_tool(phrases: CompiledPhrases) -> None:
    for text in ("Hello!", "thank you very much", "goodbye", "who are you?", "how are you"):
        match = phrases.match(text)
        assert match is not None
        assert match.tool is None
        assert isinstance(match.proceed(), str)


def test_help_names_what_these_tools_can_do(phrases: CompiledPhrases) -> None:
    match = phrases.match("what can you do")
    assert match is not None
    said = match.proceed()
    assert isinstance(said, str)
    assert "what time is it" in said
    without = PhraseBook.load("en").compile([]).match("what can you do")
    assert without is not None
    assert without.proceed() != said
    for example in phrases.examples():
        assert phrases.match(example) is not None


def test_louder_asks_for_the_volume_and_stays_within_the_range(phrases: CompiledPhrases) -> None:
    match = phrases.match("make it louder")
    assert match is not None
    assert match.proceed() == Call("self_get_device_status", {})
    assert match.proceed([STATUS_JSON]) == Call("self_audio_speaker_set_volume", {"volume": 100})
    assert match.proceed([STATUS_JSON, "true"]) == "The volume is now 100 percent."
    failed = json.dumps({"error": {"type": "timeout", "message": "no answer"}})
    assert match.proceed([failed]) == message("tool_failed", "en")
    assert match.proceed([STATUS_JSON, failed]) == message("tool_failed", "en")
    assert match.proceed(["{}"]) == message("not_told", "en")


@pytest.mark.parametrize(
    ("text", "result", "reply"),
    [
        ("what is the volume", STATUS_JSON, "The volume is 95 percent."),
        ("what is the battery level", STATUS_JSON, "This device does not tell its battery level."),
        ("what is the theme", STATUS_JSON, "The theme is dark."),
        ("set the volume to ten", "true", "The volume is now 10 percent."),
        ("set the volume to ten", "false", "Sorry, that did not work."),
        ("lamp state", '{"power": true}', "The lamp state is on."),
        ("what time is it", "14:05", "It is 2:05 PM."),
        ("what time is it", "2026-08-13T00:30:00+02:00", "It is 12:30 AM."),
        ("what time is it", "half past two", "It is half past two."),
        ("what day is it", '{"date": "2026-08-13"}', "It is Thursday, August 13, 2026."),
        ("what do you see", '{"success": true, "text": "A cat."}', "A cat."),
        ("turn on the lamp", "true", "Okay, the lamp is on."),
    ],
)
def test_the_reply_is_filled_from_the_result(
    phrases: CompiledPhrases, text: str, result: str, reply: str
) -> None:
    match = phrases.match(text)
    assert match is not None
    assert match.proceed([result]) == reply


def test_a_slot_takes_its_range_from_the_schema() -> None:
    quiet = tool("self.audio_speaker.set_volume", "", volume=integer(0, 10))
    phrases = PhraseBook.load("en").compile([quiet])
    assert phrases.match("set the volume to eleven") is None
    full = phrases.match("full volume")
    assert full is not None
    assert full.arguments == {"volume": 10}
    only_dark = tool("self.screen.set_theme", "", theme={"type": "string", "enum": ["dark"]})
    phrases = PhraseBook.load("en").compile([only_dark])
    assert phrases.match("switch to the dark theme") is not None
    assert phrases.match("switch to the light theme") is None


def test_an_intent_without_its_tool_or_argument_does_not_exist() -> None:
    renamed = tool("self.audio_speaker.set_volume", "", loudness=integer(0, 100))
    for tools in ([], [STATUS], [THEME], [renamed]):
        phrases = PhraseBook.load("en").compile(tools)
        assert "set_volume" not in phrases.intents
        assert "volume_up" not in phrases.intents
        assert phrases.match("volume up") is None


def test_other_tools_never_answer_with_old_phrases() -> None:
    book = PhraseBook.load("en")
    before = book.compile([VOLUME])
    after = book.compile(list(BOARD))
    assert before is book.compile([VOLUME])
    assert before.fingerprint != after.fingerprint
    assert before.match("turn on the lamp") is None
    assert after.match("volume ten") is None
    assert before.grammar().accepts(["volume", "ten"])
    assert not after.grammar().accepts(["volume", "ten"])
    assert after.grammar().accepts(["turn", "on", "the", "lamp"])


def test_an_agent_is_asked_by_the_name_of_its_skill_in_the_users_words() -> None:
    message = {"type": "string", "minLength": 1, "description": USERS_WORDS}
    phrases = PhraseBook.load("en").compile(
        [
            tool("get_recipe", "Recipe: Reads a recipe.", message=message),
            tool("send_letter", text={"type": "string"}),
        ]
    )
    said = "Can you tell me the recipe, please?"
    match = phrases.match(said)
    assert match is not None
    assert match.proceed() == Call("get_recipe", {"message": said})
    assert match.proceed([f"{SPOKEN_NOTE} Beat two eggs."]) == ""
    grammar = phrases.grammar()
    assert grammar.accepts(["tell", "me", "the", "recipe"])
    assert phrases.match("send letter") is None  # another text is not made up
    assert not grammar.accepts(["send", "letter"])


def test_strict_schemas_keep_optional_arguments_optional() -> None:
    strict = tool("self.dog.walk", "", steps=integer(1, 9, default=4))
    schema = {**strict.parameters, "required": ["steps"], "additionalProperties": False}
    walk = type(strict)(strict.alias, "", schema)
    match = PhraseBook.load("en").compile([walk]).match("dog walk")
    assert match is not None
    assert match.arguments == {}
