"""Matches tokens against a sentence tree: a small backtracking walk, longest number first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vixio.language.phrasebook.nodes import Alt, Node, Seq, Slot, Word
from vixio.language.phrasebook.numbers import Numbers
from vixio.language.phrasebook.slots import AS_SAID, ChoiceSlot, NumberSlot, SlotKind, TextSlot
from vixio.language.phrasebook.text import Tokens, fold


@dataclass(frozen=True, slots=True)
class Filled:
    """A slot's value and the words for it."""

    name: str
    value: Any
    said: str


@dataclass(frozen=True, slots=True)
class Reader:
    """The input of a walk besides the tree; the words of ``tokens`` are folded."""

    tokens: Tokens
    slots: Mapping[str, SlotKind]
    numbers: Numbers


def walk(node: Node, at: int, reader: Reader) -> Iterator[tuple[int, tuple[Filled, ...]]]:
    """Yield where each match of ``node`` from token ``at`` ends, and the slots that it filled."""
    if isinstance(node, Word):
        if at < len(reader.tokens.words) and reader.tokens.words[at] == fold(node.text):
            yield at + 1, ()
    elif isinstance(node, Seq):
        yield from _walk_items(node.items, at, reader)
    elif isinstance(node, Alt):
        for item in node.items:
            yield from walk(item, at, reader)
    elif isinstance(node, Slot):
        yield from _walk_slot(node.name, at, reader)


def _walk_items(
    items: tuple[Node, ...], at: int, reader: Reader
) -> Iterator[tuple[int, tuple[Filled, ...]]]:
    if not items:
        yield at, ()
        return
    for middle, filled in walk(items[0], at, reader):
        for end, more in _walk_items(items[1:], middle, reader):
            yield end, filled + more


def _walk_slot(name: str, at: int, reader: Reader) -> Iterator[tuple[int, tuple[Filled, ...]]]:
    kind = reader.slots.get(name)
    tokens = reader.tokens
    if isinstance(kind, NumberSlot):
        for end, number in reader.numbers.read(tokens.words, at):
            if not kind.bounded or kind.low <= number <= kind.high:
                yield end, (Filled(name, number, str(number)),)
    elif isinstance(kind, ChoiceSlot):
        for said, value in kind.choices:
            for end, _ in walk(said, at, reader):
                if end > at:
                    original = tokens.original(at, end)
                    meant = original if value is AS_SAID else value
                    yield end, (Filled(name, meant, original.lower()),)
    elif isinstance(kind, TextSlot):
        for end in range(len(tokens.words), at, -1):
            text = tokens.original(at, end)
            yield end, (Filled(name, text, text),)
