"""What the phrase book says about what is remembered, in the user's language."""

from __future__ import annotations

import json

import pytest

from tests.unit.tools.test_builtin import run
from vixio.core.tools.runtime import ToolRuntime
from vixio.language.phrasebook import PhraseBook, signatures
from vixio.language.phrasebook.match import recalled
from vixio.language.phrasebook.reply import Missing, Result
from vixio.tools.builtin import builtin_source

ASKED = {"en": "what do you know about me", "zh-CN": "你记得我什么"}


@pytest.mark.parametrize(
    ("language", "empty", "known"),
    [
        (
            "en",
            "I do not remember anything about you yet.",
            "I remember 2 things: I like tea; 我爱茶.",
        ),
        ("zh-CN", "我还没有记住关于你的事。", "我记得2件事：I like tea；我爱茶。"),
    ],
)
async def test_what_is_remembered_is_said_in_the_users_language(
    language: str, empty: str, known: str
) -> None:
    session = ToolRuntime([builtin_source()]).open("a", "1")
    phrases = PhraseBook.load(language).compile(signatures(session.toolset.definitions()))
    match = phrases.match(ASKED[language])
    assert match is not None
    assert match.proceed([await run(session, "recall_facts")]) == empty
    for fact in ("I like tea.", "我爱茶。"):
        await run(session, "remember_fact", json.dumps({"fact": fact}))
    assert match.proceed([await run(session, "recall_facts")]) == known


@pytest.mark.parametrize("answer", ["", "tea", "[]", "{}", '{"facts": 3}'])
def test_an_answer_of_another_form_is_not_read_out(answer: str) -> None:
    with pytest.raises(Missing):
        recalled(Result.read(answer), "en")
