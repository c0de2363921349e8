"""What can be spoken or shown comes from a catalogue, from a model, from a tool or from settings:
no text in the code is given to what speaks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Set
from pathlib import Path

import pytest

from tests.support.source_code import statements

ROOT = Path(__file__).resolve().parents[2]

SPEAKS = {"TextDelta", "Sentence", "Words", "SpeechHandle", "Notice", "speak", "say", "show"}
SPEAKS |= {"send_alert", "send_sentence", "put_sentence", "Deferred"}
"""Classes and methods whose arguments reach a user's ears or screen."""

SILENT = {"core/consent.py", "core/exit_phrases.py"}
"""Words that users say, not the assistant."""
NOT_SERVED = ("cli", "providers/downloads", "testing", "settings/templates")
"""Packages that no device is served by."""

EMOTIONS = {"sad", "sleepy"}


def spoken_literals(source: str, speaks: Set[str] = SPEAKS) -> Iterator[str]:
    """Yield text in the code that is given to what speaks."""
    if not any(f"{name}(" in source for name in speaks):  # to parse it takes longer
        return
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        name = node.func.id if isinstance(node.func, ast.Name) else name
        if name not in speaks:
            continue
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            for part in ast.walk(argument):
                if isinstance(part, ast.Call) and part is not argument:
                    continue
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    words = part.value.strip()
                    if any(map(str.isalpha, words)) and not _is_a_key(argument):
                        yield words


def _is_a_key(argument: ast.expr) -> bool:
    """Whether it is a call that looks the words up, or the name of an emotion."""
    if isinstance(argument, ast.Constant):
        return argument.value in EMOTIONS
    function = argument.func if isinstance(argument, ast.Call) else None
    return isinstance(function, ast.Name) and function.id == "message"


def served() -> dict[str, str]:
    found = {}
    for path in sorted((ROOT / "vixio").rglob("*.py")):
        name = path.relative_to(ROOT / "vixio").as_posix()
        if not name.startswith(tuple(f"{each}/" for each in NOT_SERVED)) and name not in SILENT:
            found[name] = path.read_text(encoding="utf-8")
    return found


def test_no_text_in_the_code_is_spoken() -> None:
    sources = served()
    assert len(sources) > 200
    found = {}
    for name, text in sources.items():
        # In a provider, "speak" is a voice's own, which it tries at its start without a listener.
        speaks = SPEAKS - {"speak"} if name.startswith("providers/") else SPEAKS
        if words := [*spoken_literals(text, speaks)]:
            found[name] = words
    assert found == {}


def test_what_speaks_is_still_called_so() -> None:
    """A renamed class or method would make the test above pass for nothing."""
    defined = re.compile(rf"(?:class|def) (?:{'|'.join(SPEAKS)})\b")
    names = {
        node.name
        for text in served().values()
        if defined.search(text)
        for node in statements(ast.parse(text).body)
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert names >= SPEAKS


@pytest.mark.parametrize(
    "source",
    [
        'TextDelta(1, "Sorry")',
        'session.say("Hello")',
        'engine.speak(1, f"{name} failed")',
        'connection.send_alert(status, text or "Error", "sad")',
        'Words(text="Sorry" if failed else said)',
    ],
)
def test_a_planted_text_is_found(source: str) -> None:
    assert len([*spoken_literals(source)]) == 1


def test_a_key_is_no_text() -> None:
    assert [*spoken_literals('TextDelta(1, message("failed", language))')] == []
    assert [*spoken_literals('context.say(f"{words} ")')] == []
