from __future__ import annotations

from importlib import resources

import pytest

from vixio.core.errors import ConfigError
from vixio.phrasebook import nodes
from vixio.phrasebook.template import load_language, parse_language

DATA = resources.files("vixio.phrasebook") / "data"
ENGLISH = (DATA / "en.yaml").read_text("utf-8")
NAMES = (DATA / "tool_names.yaml").read_text("utf-8")


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("intents:\n", "intents:\n  odd:\n    sentences: ['a [b']\n    reply: x\n", "intents.odd"),
        ("intents:\n", "intents:\n  odd:\n    sentences: ['<no>']\n    reply: x\n", "intents.odd"),
        (
            "intents:\n",
            "intents:\n  odd:\n    sentences: ['light[s]']\n    reply: x\n",
            "inside a word",
        ),
        ("intents:\n", "intents:\n  odd:\n    sentence: [a]\n    reply: x\n", "intents.odd"),
        ("intents:\n", "intents:\n  odd:\n    sentences: [a]\n", "intents.odd"),
        ("on_off:", "\ton_off:", "en.yaml"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_place(old: str, new: str, place: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_language("en", ENGLISH.replace(old, new, 1), NAMES, "en.yaml")
    message = str(caught.value)
    assert place in message
    assert "en.yaml" in message
    assert "\n" not in message


def test_an_unknown_language_is_named() -> None:
    with pytest.raises(ConfigError, match="'xx'"):
        load_language("xx")


def test_rules_without_end_are_refused() -> None:
    rules = {"a": nodes.parse("x <b>"), "b": nodes.parse("<a>")}
    with pytest.raises(ValueError, match="in a circle"):
        nodes.fill(nodes.parse("<a>"), rules)


def test_permutations_and_groups() -> None:
    node = nodes.parse("(red;green) light")
    orders = nodes.parse("(red green|green red)")
    assert node == nodes.seq(orders, nodes.Word("light"))
    assert nodes.parse("[a] b") == nodes.seq(
        nodes.alt(nodes.Word("a"), nodes.NOTHING), nodes.Word("b")
    )
