from __future__ import annotations

import random
import sys
from collections.abc import Callable
from functools import cache
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.language.phrasebook.tools import BOARD, COMMON, LAMP, integer, tool
from vixio.language.phrasebook import LANGUAGES, Grammar, PhraseBook, ToolSignature
from vixio.language.phrasebook.text import join

ALL = (*COMMON, *BOARD)


@cache
def without_tools() -> Grammar:
    """The sentences that are understood in any case."""
    return PhraseBook.load("en").compile([]).grammar()


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    language=st.sampled_from(LANGUAGES),
    tools=st.lists(st.sampled_from(ALL), unique_by=lambda item: item.alias),
    seed=st.integers(0, 10_000),
)
def test_every_sentence_of_the_grammar_is_understood(
    language: str, tools: list[ToolSignature], seed: int
) -> None:
    phrases = PhraseBook.load(language).compile(tools)
    grammar = phrases.grammar()
    words = grammar.sample(random.Random(seed))
    assert grammar.accepts(words)
    match = phrases.match(join(words))
    assert match is not None
    if match.tool is not None:
        assert match.tool in {item.alias for item in tools}


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    words=st.lists(
        st.from_regex(r"[a-z]{1,8}", fullmatch=True)
        | st.sampled_from(["turn", "on", "set", "get"]),
        min_size=1,
        max_size=5,
    ),
    low=st.integers(-500, 500),
    span=st.integers(0, 100_000),
    seed=st.integers(0, 100),
)
def test_a_tool_of_any_name_has_phrases_that_call_it(
    words: list[str], low: int, span: int, seed: int
) -> None:
    made = tool("self." + "_".join(words), "", amount=integer(low, low + span))
    phrases = PhraseBook.load("en").compile([made])
    said = phrases.grammar().sample(random.Random(seed))
    match = phrases.match(join(said))
    assert match is not None
    if match.tool is not None and not without_tools().accepts(said):
        assert low <= match.arguments["amount"] <= low + span


def test_a_tool_may_be_called_by_what_is_shorthand_elsewhere() -> None:
    phrases = PhraseBook.load("en").compile([tool("self.u", "", amount=integer(0, 9))])
    match = phrases.match("please u seven")
    assert match is not None
    assert match.arguments == {"amount": 7}
    thanks = phrases.match("thank u")
    assert thanks is not None
    assert thanks.tool is None


def test_what_cannot_be_pronounced_is_left_out_and_counted() -> None:
    phrases = PhraseBook.load("en").compile(list(LAMP))
    whole = phrases.grammar()
    without = phrases.grammar(lambda word: word != "lamp")
    assert "lamp" in whole.vocabulary
    assert "lamp" not in without.vocabulary
    assert without.left_out > whole.left_out
    assert without.accepts(["hello"])


def test_open_slots_are_for_typed_text_only() -> None:
    mode = tool("self.radio.set_station", "", station={"type": "string"})
    phrases = PhraseBook.load("en").compile([mode])
    match = phrases.match("set the radio station to Jazz FM")
    assert match is not None
    assert match.arguments == {"station": "Jazz FM"}
    assert "radio" not in phrases.grammar().vocabulary


def test_the_jsgf_form_names_every_word() -> None:
    grammar = PhraseBook.load("en").compile(list(LAMP)).grammar()
    text = grammar.jsgf("lamp")
    assert text.startswith("#JSGF V1.0;\ngrammar lamp;\npublic <s0x> = <s0>;")
    assert all(f" {word} <s" in text for word in grammar.vocabulary)


def calls_of(work: Callable[[], object]) -> int:
    """Return the number of function calls in ``work``, which no other process changes."""
    count = 0

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_work_grows_with_the_number_of_tools_only(language: str) -> None:
    book = PhraseBook.load(language)

    def levels(number: int) -> list[ToolSignature]:
        return [tool(f"self.device{n}.set_level", "", level=integer(0, 100)) for n in range(number)]

    def compiled(number: int) -> int:
        tools = [*ALL, *levels(number)]
        return calls_of(lambda: book.compile(tools).grammar())

    compiled(30)  # what is kept from then on is not counted
    none, some, more = compiled(0), compiled(10), compiled(30)
    assert more - none < 4 * (some - none), (none, some, more)
    phrases = book.compile([*ALL, *levels(30)])
    text = "please set the volume to something that is not a number at all"
    assert calls_of(lambda: phrases.match(text)) < 20_000


def test_further_phrases_are_in_the_grammar() -> None:
    phrases = PhraseBook.load("en").compile([])
    grammar = phrases.grammar(more=["Over and out!", "xyzzy now"])
    assert grammar.accepts(["over", "and", "out"])
    assert grammar.accepts(["please", "over", "and", "out"])
    assert not phrases.grammar().accepts(["over", "and", "out"])
    speakable = phrases.grammar(lambda word: word != "xyzzy", ["over and out", "xyzzy now"])
    assert speakable.accepts(["over", "and", "out"])
    assert not speakable.accepts(["xyzzy", "now"])
    assert speakable.left_out == phrases.grammar().left_out + 1
