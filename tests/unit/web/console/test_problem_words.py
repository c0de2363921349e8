"""The console knows what the API says is wrong in Chinese: each sentence has its words."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from vixio.web.console.assets import read_assets

PACKAGE: Final = Path(__file__).parents[4] / "vixio"

PLACES: Final = ("web/api", "data/devices", "data/memory", "data/reminders", "composition")

RAISED: Final = {
    "Problem": 1,
    "too_many": 0,
    "unavailable": 0,
    "RegistryError": 0,
    "NotKnown": 0,
    "TooManyTries": 0,
    "FirmwareError": 0,
    "FactRefused": 0,
    "ReminderError": 0,
    "NotNow": 0,
}
"""Names of what is raised with a sentence for people, with the place of the sentence."""

FOR_PROGRAMS: Final = (
    "this is for devices: ",
    "this is not done by that method",
    "the body is not JSON",
    "send JSON, with `Content-Type",
    "Last-Event-ID: ",
    "the token lets no event be seen",
)
"""Beginnings of sentences that the console cannot meet: it sends what the API expects."""

VALUE: Final = "'a value'"


def sentence(node: ast.expr) -> str:
    """Return a sentence of the code with a value in each of its places; empty: it is not known."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(
                str(part.value) if isinstance(part, ast.Constant) else VALUE for part in parts
            )
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return sentence(left) + (sentence(right) or VALUE)
    return ""


def sentences() -> Iterator[str]:
    """Yield all that are raised."""
    for place in PLACES:
        for path in (PACKAGE / place).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                match node:
                    case ast.Call(func=ast.Name(id=name), args=given) if name in RAISED:
                        text = "".join(map(sentence, given[RAISED[name] :][:1]))
                        words = re.findall(r"[a-z]+", text.replace(VALUE, ""))
                        if len(words) > 1 and not text.startswith(FOR_PROGRAMS):
                            yield text


def known() -> list[tuple[re.Pattern[str], str, str]]:
    """Return the sentences that have words: as a pattern, as they stand there, and their words."""
    text = read_assets().files["words/problems.js"].content.decode()
    pairs = [json.loads(line) for line in re.findall(r"^  (\[\".*\"\]),$", text, re.MULTILINE)]
    return [
        (re.compile("(.+?)".join(map(re.escape, re.split(r"\{\w+\}", each)))), each, words)
        for each, words in pairs
    ]


def test_every_sentence_has_chinese_words() -> None:
    raised = set(sentences())
    assert len(raised) > 80
    forms = [form for form, _, _ in known()]
    lacking = [each for each in raised if not any(form.fullmatch(each) for form in forms)]
    assert sorted(lacking) == [], "add them to vixio/web/console/static/words/problems.js"


def test_the_words_are_chinese_and_have_the_values_of_their_sentence() -> None:
    pairs = known()
    assert len({each for _, each, _ in pairs}) == len(pairs)
    for _, each, words in pairs:
        assert re.search(r"[\u4e00-\u9fff]", words) or words == "{text}", words
        assert set(re.findall(r"\{(\w+)\}", words)) <= set(re.findall(r"\{(\w+)\}", each)), each
