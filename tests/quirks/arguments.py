"""What models write as the arguments of a call; ``unit/core/tools/test_arguments.py`` has more."""

from __future__ import annotations

from tests.quirks.quirk import LAMP, Quirk, volume
from tests.support.llm_server import Call

V = "self_audio_speaker_set_volume"

_FORTY = {
    "right": '{"volume":40}',
    "a whole number as a fraction": '{"volume":40.0}',
    "a number in quotes": '{"volume":"40"}',
    "a brace too many": '{"volume":40}}',
    "a comma too many": '{"volume":40,}',
    "single quotes": "{'volume': 40}",
    "a fence": '```json {"volume":40} ```',
    "a fence on lines of its own": '```json\n{"volume":40}\n```',
    "JSON in a string": '"{\\"volume\\": 40}"',
    "a prefix of it (vllm#51697)": '{{"volume": 40}',
    "twice the same": '{"volume":40}{"volume":40}',
    "names without quotes": "{volume: 40}",
    "a token behind": '{"volume":40}<|im_end|>',
    "a tag behind": '{"volume":40}</tool_call>',
    "the whole call": f'{{"name": "{V}", "arguments": {{"volume": 40}}}}',
    "a list of one": '[{"volume":40}]',
    "several mistakes": "```\n{'volume': '40',}\n```",
}

QUIRKS = [
    *(Quirk(name, calls=[Call("a", V, text)], made=volume(40)) for name, text in _FORTY.items()),
    *(
        Quirk(f"none: {text!r}", calls=[Call("a", "self_lamp_turn_on", text)], made=[(LAMP, {})])
        for text in ("", "{}", "null", '"null"', "None", "``` ```")
    ),
    Quirk(
        "two objects in a row",
        calls=[Call("a", V, '{"volume":40}{"volume":50}')],
        made=volume(40, 50),
    ),
    Quirk(
        "two empty objects in a row",
        "openai-agents#2428",
        calls=[Call("a", "self_lamp_turn_on", "{}{}")],
        made=[(LAMP, {}), (LAMP, {})],
    ),
    Quirk(
        "two objects, of which one does not fit",
        calls=[Call("a", V, '{"volume":40}{"volume":500}')],
        results=["the arguments are not JSON: Extra data"],
    ),
    Quirk(
        "cut off",
        calls=[Call("a", V, '{"volume":4')],
        results=['they were: {\\"volume\\":4'],
    ),
    Quirk("words", calls=[Call("a", V, "forty")], results=["the arguments are not JSON"]),
    Quirk("a number alone", calls=[Call("a", V, "40")], results=["must be one JSON object"]),
    Quirk(
        "a word for a number",
        calls=[Call("a", V, '{"volume":"loud"}')],
        results=["'loud' is not of type 'integer'"],
    ),
]
