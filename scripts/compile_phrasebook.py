"""Compile the phrase books: ``make phrasebook``, after a change of a YAML file of theirs.

Each file in ``vixio/language/phrasebook/data`` becomes a JSON file beside it, with its templates
parsed (``vixio/language/phrasebook/stored.py``). A template is in hassil's syntax: ``(a|b)``
alternatives, ``[a]`` optional, ``(a;b)`` any order, ``<rule>`` another template, ``{slot}`` a
value. One restriction in addition to hassil's: in languages that are written with spaces a group
must end at the end of a word (write ``(light|lights)``, not ``light[s]``), since the recogniser
works with whole words."""

from __future__ import annotations

import itertools
from typing import Any

import yaml
from hassil.expression import (
    Alternative,
    Expression,
    Group,
    ListReference,
    Permutation,
    RuleReference,
    TextChunk,
)
from hassil.parse_expression import parse_sentence
from hassil.parser import ParseError

from vixio.core.errors import ConfigError
from vixio.language.phrasebook import LANGUAGES
from vixio.language.phrasebook.nodes import Node, Rule, Slot, alt, seq, written
from vixio.language.phrasebook.stored import DATA, StoredBook
from vixio.language.phrasebook.template import read_language
from vixio.language.phrasebook.text import is_unspaced


def main() -> None:
    """Write the compiled file of each language."""
    for code in LANGUAGES:
        target = DATA / f"{code}.json"
        target.write_text(compile_language(code), encoding="utf-8")
        print(f"wrote {target}")


def compile_language(code: str) -> str:
    """Return the text of a language's compiled file. Raises ConfigError."""
    text, names = (
        (DATA / f"{name}.yaml").read_text(encoding="utf-8") for name in (code, "tool_names")
    )
    return compile_text(code, text, names).dump()


def compile_text(code: str, text: str, tool_names: str) -> StoredBook:
    """Compile a phrase book from YAML. Raises ConfigError with the place of a mistake."""
    name = f"{code}.yaml"
    try:
        book: dict[str, Any] = yaml.safe_load(text)
        names: dict[str, Any] = yaml.safe_load(tool_names)
    except yaml.YAMLError as error:
        what = str(error).replace("\n", " ")
        raise ConfigError(f"phrase book {name}: {type(error).__name__}: {what}") from error
    templates: dict[str, Node] = {}

    def parse_and_keep(template: str) -> Node:
        node = templates[template] = parse(template)
        return node

    read_language(code, book, names, parse_and_keep, name)
    return StoredBook(book, names, templates)


def parse(template: str) -> Node:
    """Return the tree of a template. Raises ValueError that names the mistake."""
    try:
        sentence = parse_sentence(template)
    except (ParseError, AssertionError) as error:  # hassil asserts on some malformed groups
        raise ValueError(f"{template!r} is not a sentence template: {error}") from error
    _refuse_cut_words(template)
    return _convert(sentence.expression)


def _convert(expression: Expression) -> Node:
    if isinstance(expression, TextChunk):
        return written(expression.text)
    if isinstance(expression, ListReference):
        return Slot(expression.list_name)
    if isinstance(expression, RuleReference):
        return Rule(expression.rule_name)
    if isinstance(expression, Permutation):
        items = [_convert(item) for item in expression.items]
        return alt(*(seq(*order) for order in itertools.permutations(items)))
    if isinstance(expression, Alternative):
        return alt(*(_convert(item) for item in expression.items))
    if isinstance(expression, Group):
        return seq(*(_convert(item) for item in expression.items))
    raise ValueError(f"{type(expression).__name__} is not supported in templates")


def _refuse_cut_words(template: str) -> None:
    for left, right in itertools.pairwise(template):
        opens = right in "([{<" and left not in " ([|;<{"
        closes = left in ")]}>" and right not in " )]|;>}"
        outside = left if opens else right
        if (opens or closes) and outside.isalnum() and not is_unspaced(outside):
            raise ValueError(f"{template!r}: a group ends inside a word at {left + right!r}")


if __name__ == "__main__":
    main()
