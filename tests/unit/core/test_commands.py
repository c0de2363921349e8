"""Commands as they travel between processes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vixio.core.commands import (
    MAX_BYTES,
    MAX_TEXT,
    Ask,
    Close,
    Command,
    CommandResult,
    CommandStatus,
    Custom,
    Interrupt,
    Reconfigure,
    Say,
    decode,
    encode,
)
from vixio.core.session.speech import Priority

COMMANDS: list[Command] = [
    Say("Dinner."),
    Say("你好 👋", Priority.LOW, interruptible=False, wait=True),
    Ask("Which day is it?", Priority.HIGH),
    Interrupt(),
    Reconfigure(),
    Reconfigure(dict.fromkeys(Reconfigure.NAMES, "x")),
    Close("enough"),
    Custom("blink", {"times": [1, 2.5, None, {"nested": True}]}),
]


@pytest.mark.parametrize("command", COMMANDS, ids=repr)
def test_a_command_survives_the_journey(command: Command) -> None:
    assert decode(json.loads(json.dumps(encode(command)))) == command


def test_every_kind_of_command_is_tried_here() -> None:
    assert {type(command) for command in COMMANDS} == set(Command.__args__)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "an object whose type is one of say, ask"),
        ([], "an object"),
        ({}, "an object"),
        ({"type": "shout", "text": "x"}, "one of say, ask"),
        ({"type": ["say"]}, "one of say, ask"),
        ({"type": "say"}, "lacks"),
        ({"type": "say", "text": "  "}, "nothing to say"),
        ({"type": "say", "text": 5}, "text must be a text"),
        ({"type": "say", "text": "x" * (MAX_TEXT + 1)}, "characters"),
        ({"type": "say", "text": "x", "volume": 3}, "no 'volume'"),
        ({"type": "say", "text": "x", "priority": "urgent"}, "low, normal, high"),
        ({"type": "say", "text": "x", "priority": 2}, "low, normal, high"),
        ({"type": "say", "text": "x", "wait": "no"}, "wait must be true or false"),
        ({"type": "reconfigure", "changes": {"agent": "x"}}, "'agent' cannot be changed"),
        ({"type": "reconfigure", "changes": {"language": 5}}, "'language' cannot be changed"),
        ({"type": "reconfigure", "changes": []}, "changes must be an object"),
        ({"type": "custom", "name": ""}, "needs a name"),
        ({"type": "custom"}, "lacks"),
    ],
)
def test_what_is_no_command_says_why(data: Any, message: str) -> None:  # noqa: ANN401 - anything
    with pytest.raises(ValueError, match=message):
        decode(data)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"x": object()}, "not JSON"), ({"x": "y" * MAX_BYTES}, "bytes")],
)
def test_a_command_that_cannot_travel_is_refused(arguments: Any, message: str) -> None:  # noqa: ANN401
    with pytest.raises(ValueError, match=message):
        encode(Custom("blink", arguments))


def test_a_result_survives_the_journey() -> None:
    for result in (
        CommandResult(CommandStatus.DONE, {"heard": "Dinner"}),
        CommandResult(CommandStatus.FAILED, message="no such lamp"),
    ):
        assert CommandResult.from_json(json.loads(json.dumps(result.to_json()))) == result
        assert result.ok is (result.status is CommandStatus.DONE)


@pytest.mark.parametrize("data", [None, {}, {"status": "great", "value": 1, "message": ""}])
def test_what_is_no_result_is_refused(data: Any) -> None:  # noqa: ANN401 - anything
    with pytest.raises(ValueError):  # noqa: PT011 - the enumeration's own words are fine
        CommandResult.from_json(data)
