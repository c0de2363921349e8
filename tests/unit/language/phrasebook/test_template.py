from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from scripts.compile_phrasebook import compile_language, compile_text, parse
from tests.unit.language.phrasebook.tools import BOARD, COMMON
from vixio.core.errors import ConfigError
from vixio.language.phrasebook import LANGUAGES, PhraseBook, nodes, signatures, stored
from vixio.language.phrasebook.stored import DATA, load_language
from vixio.tools.builtin import builtin_source

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
        compile_text("en", ENGLISH.replace(old, new, 1), NAMES)
    message = str(caught.value)
    assert place in message
    assert "en.yaml" in message
    assert "\n" not in message


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_compiled_file_is_that_of_the_templates(code: str) -> None:
    compiled = (DATA / f"{code}.json").read_text("utf-8")
    assert compiled == compile_language(code), "run `make phrasebook`"


def test_a_compiled_book_is_the_book() -> None:
    compiled = load_language("en")
    names = [intent.name for intent in compiled.intents]
    assert names == list(yaml.safe_load(ENGLISH)["intents"])
    greeting = compiled.intents[names.index("greeting")]
    assert parse("(hello|hi|hey) [there]") in greeting.sentences
    assert dict(compiled.automatic.on_off) == {parse("on"): True, parse("off"): False}


def test_a_template_that_is_not_compiled_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (DATA / "en.json").read_text("utf-8")
    assert '"how do you do": [' in text
    (tmp_path / "en.json").write_text(text.replace('"how do you do": [', '"": ["seq"], "x": [', 1))
    monkeypatch.setattr(stored, "DATA", tmp_path)
    with pytest.raises(ConfigError, match="'how do you do' is not compiled: run make phrasebook"):
        load_language("en")


def test_an_unknown_language_is_named() -> None:
    with pytest.raises(ConfigError, match="'xx'"):
        load_language("xx")


def test_rules_without_end_are_refused() -> None:
    rules = {"a": parse("x <b>"), "b": parse("<a>")}
    with pytest.raises(ValueError, match="in a circle"):
        nodes.fill(parse("<a>"), rules)


def test_permutations_and_groups() -> None:
    node = parse("(red;green) light")
    orders = parse("(red green|green red)")
    assert node == nodes.seq(orders, nodes.Word("light"))
    assert parse("[a] b") == nodes.seq(nodes.alt(nodes.Word("a"), nodes.NOTHING), nodes.Word("b"))


@pytest.mark.parametrize("code", LANGUAGES)
def test_what_the_help_names_is_understood(code: str) -> None:
    tools = [*signatures(builtin_source().tools()), *COMMON[2:], *BOARD]
    phrases = PhraseBook.load(code).compile(tools)
    examples = phrases.examples()
    assert len(examples) >= 10
    assert [each for each in examples if phrases.match(each) is None] == []


@pytest.mark.parametrize("code", LANGUAGES)
def test_intents_have_the_same_names_in_all_books(code: str) -> None:
    """By them one book puts into words what another one has understood."""

    def names(language: str) -> set[str]:
        intents = load_language(language).intents
        return {each.name.removesuffix("_heard").removesuffix("_typed") for each in intents}

    special = {name for name in names(code) - names("en") if not name.startswith("set_")}
    assert special == set()
