"""The closed grammar of a compiled phrase book: a minimal deterministic word automaton.

It is finite and has no cycles, so a recogniser searches each word sequence once. Two phrase books
with the same sentences have the same grammar.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from vixio.language.phrasebook.nodes import (
    IMPOSSIBLE,
    NOTHING,
    Alt,
    Node,
    Seq,
    Slot,
    Word,
    alt,
    seq,
)
from vixio.language.phrasebook.numbers import Numbers, spoken_range
from vixio.language.phrasebook.slots import ChoiceSlot, NumberSlot, SlotKind

Arcs = tuple[tuple[tuple[str, int], ...], ...]


@dataclass(frozen=True, slots=True)
class Grammar:
    """``arcs[state]`` maps a word to the next state; state 0 is the start.

    ``finals``: the states in which a sentence may end. ``left_out``: sentences (templates with
    their slots) that cannot be said without an unspeakable word or a slot for arbitrary words.
    """

    arcs: Arcs
    finals: frozenset[int]
    left_out: int = 0

    @property
    def vocabulary(self) -> frozenset[str]:
        """All words."""
        return frozenset(word for state in self.arcs for word, _ in state)

    def accepts(self, words: Sequence[str]) -> bool:
        """Return whether ``words`` are a sentence."""
        return self._state(words) in self.finals

    def following(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return the words that may come next."""
        state = self._state(words)
        return () if state is None else tuple(word for word, _ in self.arcs[state])

    def _state(self, words: Sequence[str]) -> int | None:
        state: int | None = 0
        for word in words:
            state = next((target for said, target in self.arcs[state or 0] if said == word), None)
            if state is None:
                return None
        return state

    def sample(self, random_source: random.Random) -> list[str]:
        """Return a random sentence."""
        words: list[str] = []
        state = 0
        while self.arcs[state]:
            stop = state in self.finals
            choice = random_source.randrange(len(self.arcs[state]) + stop)
            if choice == len(self.arcs[state]):
                break
            word, state = self.arcs[state][choice]
            words.append(word)
        return words

    def jsgf(self, name: str = "phrases") -> str:
        """Return it in the JSpeech Grammar Format, one rule per state."""
        lines = ["#JSGF V1.0;", f"grammar {name};", "public <s0x> = <s0>;"]
        for state, arcs in enumerate(self.arcs):
            ways = [f"{word} <s{target}>" for word, target in arcs]
            if state in self.finals:
                ways.append("<NULL>")
            lines.append(f"<s{state}> = {' | '.join(ways) or '<VOID>'};")
        return "\n".join(lines)


@dataclass(slots=True)
class _Nfa:
    """Word arcs and empty arcs by state; state 0 is the start."""

    words: list[list[tuple[str, int]]] = field(default_factory=list)
    empty: list[list[int]] = field(default_factory=list)

    def state(self) -> int:
        self.words.append([])
        self.empty.append([])
        return len(self.words) - 1


class GrammarBuilder:
    """Collects sentences and makes their automaton.

    ``speakable``: whether the recogniser has a pronunciation for a word. Sentences with other words
    are left out.
    """

    def __init__(self, numbers: Numbers, speakable: Callable[[str], bool] | None = None) -> None:
        self._numbers = numbers
        self._speakable = speakable
        self._nfa = _Nfa()
        self._start = self._nfa.state()
        self._end = self._nfa.state()
        self._polite_start = self._nfa.state()
        self._polite_end = self._nfa.state()
        self._nfa.empty[self._start].append(self._polite_start)
        self._nfa.empty[self._polite_end].append(self._end)
        self._left_out = 0

    def politeness(self, before: Node, after: Node) -> None:
        """Allow ``before`` and ``after`` around polite sentences."""
        for node, start, end in (
            (before, self._start, self._polite_start),
            (after, self._polite_end, self._end),
        ):
            usable = self._usable(node, {})
            if usable not in (NOTHING, IMPOSSIBLE):
                self._connect(usable, start, end, {})

    def add(self, sentence: Node, slots: Mapping[str, SlotKind], *, polite: bool) -> None:
        """Add a sentence."""
        usable = self._usable(sentence, slots)
        if usable in (NOTHING, IMPOSSIBLE):
            self._left_out += 1
            return
        if polite:
            self._connect(usable, self._polite_start, self._polite_end, slots)
        else:
            self._connect(usable, self._start, self._end, slots)

    def build(self) -> Grammar:
        """Return the minimal automaton."""
        states, finals = _determinise(self._nfa, self._start, self._end)
        return _minimise(states, finals, self._left_out)

    def _usable(self, node: Node, slots: Mapping[str, SlotKind]) -> Node:
        if isinstance(node, Seq):
            return seq(*(self._usable(item, slots) for item in node.items))
        if isinstance(node, Alt):
            return alt(*(self._usable(item, slots) for item in node.items))
        if isinstance(node, Word):
            word = Word(node.text.lower())
            return word if self._speakable is None or self._speakable(word.text) else IMPOSSIBLE
        kind = slots.get(node.name) if isinstance(node, Slot) else None
        if isinstance(kind, ChoiceSlot):
            return alt(*(self._usable(said, slots) for said, _ in kind.choices))
        if isinstance(kind, NumberSlot) and spoken_range(kind.low, kind.high):
            return node
        return IMPOSSIBLE

    def _connect(self, node: Node, start: int, end: int, slots: Mapping[str, SlotKind]) -> None:
        nfa = self._nfa
        if isinstance(node, Word):
            nfa.words[start].append((node.text, end))
        elif isinstance(node, Seq):
            at = start
            for item in node.items[:-1]:
                after = nfa.state()
                self._connect(item, at, after, slots)
                at = after
            if node.items:
                self._connect(node.items[-1], at, end, slots)
            else:
                nfa.empty[start].append(end)
        elif isinstance(node, Alt):
            for item in node.items:
                self._connect(item, start, end, slots)
        else:
            kind = slots[node.name]
            if isinstance(kind, NumberSlot):
                self._splice(_number_grammar(self._numbers, kind.low, kind.high), start, end)

    def _splice(self, part: Grammar, start: int, end: int) -> None:
        nfa = self._nfa
        states = [start, *(nfa.state() for _ in part.arcs[1:])]
        for state, arcs in enumerate(part.arcs):
            for word, target in arcs:
                if self._speakable is None or self._speakable(word):
                    nfa.words[states[state]].append((word, states[target]))
            if state in part.finals:
                nfa.empty[states[state]].append(end)


@lru_cache(maxsize=256)
def _number_grammar(numbers: Numbers, low: int, high: int) -> Grammar:
    nfa = _Nfa()
    start, end = nfa.state(), nfa.state()
    for number in spoken_range(low, high):
        for way in numbers.say(number):
            at = start
            for word in way[:-1]:
                after = nfa.state()
                nfa.words[at].append((word, after))
                at = after
            nfa.words[at].append((way[-1], end))
    states, finals = _determinise(nfa, start, end)
    return _minimise(states, finals, 0)


def _determinise(nfa: _Nfa, start: int, end: int) -> tuple[list[dict[str, int]], set[int]]:
    def closure(states: Iterable[int]) -> frozenset[int]:
        found = set(states)
        todo = list(found)
        while todo:
            for target in nfa.empty[todo.pop()]:
                if target not in found:
                    found.add(target)
                    todo.append(target)
        return frozenset(found)

    first = closure((start,))
    numbered = {first: 0}
    todo = [first]
    arcs: list[dict[str, int]] = []
    finals: set[int] = set()
    for states in todo:  # grows during the iteration: breadth first, in the order of the numbers
        targets: dict[str, set[int]] = {}
        for state in states:
            for word, target in nfa.words[state]:
                targets.setdefault(word, set()).add(target)
        if end in states:
            finals.add(numbered[states])
        row: dict[str, int] = {}
        for word, found in targets.items():
            reached = closure(found)
            if reached not in numbered:
                numbered[reached] = len(numbered)
                todo.append(reached)
            row[word] = numbered[reached]
        arcs.append(row)
    return arcs, finals


def _minimise(arcs: list[dict[str, int]], finals: set[int], left_out: int) -> Grammar:
    """Merge states with the same continuations, from the end backwards: there are no cycles.

    States without a sentence ("please" where nothing can be asked for) are dropped.
    """
    order: list[int] = []
    seen: set[int] = set()
    stack: list[tuple[int, bool]] = [(0, False)]
    while stack:
        state, done = stack.pop()
        if done:
            order.append(state)
        elif state not in seen:
            seen.add(state)
            stack.append((state, True))
            stack.extend((target, False) for target in arcs[state].values())
    kinds: dict[tuple[bool, tuple[tuple[str, int], ...]], int] = {}
    kind_of: dict[int, int] = {}
    for state in order:
        ways = [(word, kind_of[to]) for word, to in arcs[state].items() if to in kind_of]
        if ways or state in finals or state == 0:
            row = tuple(sorted(ways))
            kind_of[state] = kinds.setdefault((state in finals, row), len(kinds))
    rows = list(kinds)
    last = len(rows) - 1  # the start has the last number: reverse the numbers
    return Grammar(
        tuple(
            tuple((word, last - to) for word, to in rows[last - state][1])
            for state in range(last + 1)
        ),
        frozenset(last - number for number, (final, _) in enumerate(rows) if final),
        left_out,
    )
