"""A sentence template as a small tree, made from hassil's syntax.

``(a|b)`` alternatives, ``[a]`` optional, ``(a;b)`` any order, ``<rule>`` another template,
``{slot}`` a value. One restriction in addition to hassil's: in languages that are written with
spaces a group must end at the end of a word (write ``(light|lights)``, not ``light[s]``), since the
recogniser works with whole words.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

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

from vixio.phrasebook.text import is_han, tokenize


@dataclass(frozen=True, slots=True)
class Word:
    """One token."""

    text: str


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a value."""

    name: str


@dataclass(frozen=True, slots=True)
class Rule:
    """The place of ``<name>``, filled in when the tool is known."""

    name: str


@dataclass(frozen=True, slots=True)
class Seq:
    """A sequence; empty: no words."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alt:
    """A choice; empty: impossible."""

    items: tuple[Node, ...]


Node = Word | Slot | Rule | Seq | Alt

NOTHING = Seq(())
IMPOSSIBLE = Alt(())


def parse(template: str) -> Node:
    """Return the tree of a template. Raises ValueError that names the mistake."""
    try:
        sentence = parse_sentence(template)
    except (ParseError, AssertionError) as error:  # hassil asserts on some malformed groups
        raise ValueError(f"{template!r} is not a sentence template: {error}") from error
    _refuse_cut_words(template)
    return _convert(sentence.expression)


def words(text: str) -> Node:
    """Return plain words as a tree."""
    return seq(*(Word(word) for word in tokenize(text).words))


def seq(*items: Node) -> Node:
    """Return the flattened sequence of the parts; impossible if one of them is."""
    flat: list[Node] = []
    for item in items:
        if item == IMPOSSIBLE:
            return IMPOSSIBLE
        flat.extend(item.items if isinstance(item, Seq) else (item,))
    return flat[0] if len(flat) == 1 else Seq(tuple(flat))


def alt(*items: Node) -> Node:
    """Return the flattened choice of the parts; impossible ones are left out."""
    flat: list[Node] = []
    for item in items:
        flat.extend(item.items if isinstance(item, Alt) else (item,))
    unique = tuple(dict.fromkeys(flat))
    return unique[0] if len(unique) == 1 else Alt(unique)


def ways(node: Node) -> tuple[Node, ...]:
    """Return the alternatives of a choice; any other node is its only alternative."""
    return node.items if isinstance(node, Alt) else (node,)


def replace(node: Node, change: Callable[[Node], Node]) -> Node:
    """Rebuild the tree with every leaf passed through ``change``."""
    if isinstance(node, Seq):
        return seq(*(replace(item, change) for item in node.items))
    if isinstance(node, Alt):
        return alt(*(replace(item, change) for item in node.items))
    return change(node)


def swap(node: Node, old: Node, new: Node) -> Node:
    """Rebuild the tree with ``new`` in place of the leaf ``old``."""
    return replace(node, lambda leaf: new if leaf == old else leaf)


def fill(node: Node, rules: Mapping[str, Node]) -> Node:
    """Fill in the rules. Raises ValueError for an unknown rule and for endless recursion."""
    return _fill(node, rules, 0)


def leaves(node: Node) -> Iterator[Word | Slot | Rule]:
    """Yield all leaves, left to right."""
    if isinstance(node, Seq | Alt):
        for item in node.items:
            yield from leaves(item)
    else:
        yield node


def first_words(node: Node) -> tuple[frozenset[str] | None, bool]:
    """Return the possible first words (None: any word) and whether the node can be empty."""
    if isinstance(node, Word):
        return frozenset((node.text,)), False
    if isinstance(node, Seq):
        found: frozenset[str] = frozenset()
        for item in node.items:
            first, empty = first_words(item)
            if first is None:
                return None, False
            found |= first
            if not empty:
                return found, False
        return found, True
    if isinstance(node, Alt):
        each = [first_words(item) for item in node.items]
        can_be_empty = any(empty for _, empty in each)
        if any(first is None for first, _ in each):
            return None, can_be_empty
        return frozenset().union(*(first for first, _ in each if first)), can_be_empty
    return None, False


def _fill(node: Node, rules: Mapping[str, Node], depth: int) -> Node:
    if depth > 20:
        raise ValueError("the rules refer to each other in a circle")

    def change(leaf: Node) -> Node:
        if not isinstance(leaf, Rule):
            return leaf
        if leaf.name not in rules:
            raise ValueError(f"there is no rule <{leaf.name}>")
        return _fill(rules[leaf.name], rules, depth + 1)

    return replace(node, change)


def _convert(expression: Expression) -> Node:
    if isinstance(expression, TextChunk):
        return words(expression.text)
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
        if (opens or closes) and outside.isalnum() and not is_han(outside):
            raise ValueError(f"{template!r}: a group ends inside a word at {left + right!r}")
