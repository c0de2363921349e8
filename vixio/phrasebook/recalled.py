"""Words for what is remembered about the user: the answer of ``recall_facts`` is for a model."""

from __future__ import annotations

from vixio.core.messages import message
from vixio.phrasebook.reply import Missing, Result


def recalled(result: Result, language: str) -> str:
    """Return the facts in a sentence. Raises Missing for an answer of another form."""
    facts = result.field("facts")
    if not isinstance(facts, list):
        raise Missing("facts")
    if not facts:
        return message("memory_empty", language)
    listed = message("facts_join", language).join(str(fact).rstrip(".。") for fact in facts)
    return message("recalled", language, n=len(facts), facts=listed)
