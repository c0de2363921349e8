"""Facts that the phrase book remembers and forgets, and what a recogniser must be sure of."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from tests.unit.language.phrasebook.tools import tool
from vixio.core.facts import InMemoryFactStore
from vixio.language.phrasebook import CompiledPhrases, PhraseBook, signatures
from vixio.tools.builtin import builtin_source

NOT_FOUND = json.dumps({"error": {"type": "not_found", "message": "nothing"}})


def compiled(language: str) -> CompiledPhrases:
    tools = signatures(builtin_source(facts=InMemoryFactStore()).tools())
    return PhraseBook.load(language).compile([*tools, tool("self.door.unlock"), tool("dog.walk")])


@pytest.mark.parametrize(
    ("language", "text", "name", "arguments"),
    [
        ("en", "Remember that I like tea", "remember_fact", {"fact": "I like tea"}),
        ("en", "please note my name is Anna", "remember_fact", {"fact": "my name is Anna"}),
        (
            "en",
            "Remember that the key is under the mat.",
            "remember_fact",
            {"fact": "the key is under the mat"},
        ),
        ("en", "don't forget that Tom is 7", "remember_fact", {"fact": "Tom is 7"}),
        ("en", "forget that I like tea", "forget_fact", {"about": "I like tea"}),
        ("en", "forget about the key", "forget_fact", {"about": "the key"}),
        ("en", "forget everything about me", "forget_everything", {}),
        ("zh", "请记住我喜欢喝茶", "remember_fact", {"fact": "我喜欢喝茶"}),
        ("zh", "别忘了我对花生过敏", "remember_fact", {"fact": "我对花生过敏"}),
        ("zh", "忘掉喝茶", "forget_fact", {"about": "喝茶"}),
        ("zh", "忘掉所有的事情", "forget_everything", {}),
    ],
)
def test_a_fact_is_remembered_and_forgotten(
    language: str, text: str, name: str, arguments: Mapping[str, str]
) -> None:
    match = compiled(language).match(text)
    assert match is not None
    assert (match.tool, match.arguments) == (name, arguments)


@pytest.mark.parametrize(
    ("language", "text"), [("en", "forget it"), ("en", "forget about that"), ("zh", "忘了吧")]
)
def test_never_mind_forgets_nothing(language: str, text: str) -> None:
    match = compiled(language).match(text)
    assert match is not None
    assert match.tool is None


def test_what_was_never_known_cannot_be_forgotten() -> None:
    match = compiled("en").match("forget about the key")
    assert match is not None
    assert match.proceed([NOT_FOUND]) == "I did not remember anything like that."


@pytest.mark.parametrize(
    ("language", "text", "final"),
    [
        ("en", "good night", True),
        ("en", "forget that i like tea", True),
        ("en", "forget everything", True),
        ("en", "unlock the door", True),
        ("en", "remember that i like tea", False),
        ("en", "what do you know about me", False),
        ("en", "what time is it", False),
        ("zh", "晚安", True),
        ("zh", "忘掉一切", True),
        ("zh", "现在几点", False),
    ],
)
def test_what_ends_or_erases_is_known(language: str, text: str, final: bool) -> None:
    match = compiled(language).match(text)
    assert match is not None
    assert match.final is final


def test_common_facts_can_be_spoken_and_arbitrary_ones_typed() -> None:
    grammar = compiled("en").grammar()
    assert grammar.accepts(["please", "remember", "that", "my", "birthday", "is", "in", "may"])
    assert grammar.accepts(["forget", "that", "i", "can't", "stand", "onions"])
    assert not grammar.accepts(["remember", "that", "the", "key", "is", "under", "the", "mat"])
