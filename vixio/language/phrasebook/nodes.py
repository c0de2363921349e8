"""A sentence template as a small tree of words, slots, rules, sequences and alternatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from vixio.language.phrasebook.text import tokenize


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


def words(text: str) -> Node:
    """Return plain words as a tree."""
    return seq(*(Word(word) for word in tokenize(text).words))


def written(text: str) -> Node:
    """Return the words of a template as a tree: with their capitals, which a reply needs."""
    tokens = tokenize(text)
    return seq(*(Word(tokens.original(at, at + 1)) for at in range(len(tokens.words))))


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
