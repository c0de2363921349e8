"""One language's phrase book as typed data; a mistake in it is reported with its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from vixio.core.errors import ConfigError
from vixio.core.wordlists import word_list
from vixio.language.phrasebook import nodes
from vixio.language.phrasebook.nodes import Node
from vixio.language.phrasebook.numbers import Numbers
from vixio.language.phrasebook.slots import AS_SAID
from vixio.language.phrasebook.text import Rewrite

Parse = Callable[[str], Node]
"""Returns the tree of a template. Raises ValueError."""


SLOT: Final = re.compile(r"\{(\w+)\}")
"""In an argument: the value of a slot."""

SENTENCE: Final = {"sentence": "whole"}
"""As an argument: the user's sentence as it is."""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A second call made from the first one's result (``louder``: get the volume, then set it).

    ``arguments`` as in :class:`Intent`, or ``{"field": "a.b", "add": 10}``: the number in that
    field of the first result, plus 10, kept within the schema's bounds.
    """

    tool: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Intent:
    """A command or question: its sentences, its tool, and the reply.

    ``arguments``: constants, ``"{slot}"``, text with several such (``"{a} * {b}"``), or
    ``SENTENCE``; a slot that is not listed fills the argument of the same name. ``lists``: words
    for a slot's values; for a list without values, the words are the value. ``ranges``: the numbers
    that can be spoken for a slot, where the schema allows more than a grammar should hold; any can
    be typed. ``words``: the groups of the schema's own words (``x-words``) that a slot takes.
    ``missing``: the reply if the result lacks a value that ``reply`` needs, or the tool did not
    find what was asked for. ``polite``: accepts "please" and "can you" around it. ``final``: it
    ends or erases something, so a recogniser must be surer of it than of others. ``last``: what
    other sentences do not mean.
    """

    name: str
    sentences: tuple[Node, ...]
    reply: str
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    lists: Mapping[str, tuple[tuple[Node, Any], ...]] = field(default_factory=dict)
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    missing: str = ""
    then: FollowUp | None = None
    polite: bool = True
    final: bool = False
    last: bool = False
    example: str = ""
    automatic: bool = False


@dataclass(frozen=True, slots=True)
class Automatic:
    """The words for phrases of tools without a template; see ``automatic.py``.

    ``own_names``: the words of tools' names and descriptions are words of this language, which only
    English is. ``descriptions``: the pattern of those that are in its script, where that tells it.
    ``polite_queries``: questions take "please" and "can you" as commands do. ``examples``: the
    kinds of intents whose first sentence is good enough for the help; none: all.
    """

    queries: frozenset[str]
    setters: frozenset[str]
    verbs: frozenset[str]
    final_verbs: frozenset[str]
    verb_sentences: Mapping[str, tuple[Node, ...]]
    sentences: Mapping[str, tuple[Node, ...]]
    replies: Mapping[str, str]
    words: Mapping[str, Node]
    on_off: tuple[tuple[Node, bool], ...]
    colours: tuple[tuple[Node, tuple[int, int, int]], ...]
    units: tuple[tuple[frozenset[str], Node], ...]
    unspoken: frozenset[str]
    own_names: bool
    descriptions: re.Pattern[str] | None
    polite_queries: bool
    examples: frozenset[str]


@dataclass(frozen=True, slots=True)
class Language:
    """The content of one file.

    ``clock``: how times and dates are written, as ``reply.py`` reads it. ``comma``: between the
    parts of a list. ``said``: words for what devices report in English.
    """

    code: str
    before: Node
    after: Node
    rewrites: tuple[Rewrite, ...]
    intents: tuple[Intent, ...]
    automatic: Automatic
    on_off_said: tuple[str, str]
    numbers: Numbers
    clock: Mapping[str, Any]
    comma: str
    said: Mapping[str, str]
    answers: tuple[Intent, ...] = ()
    """Yes and no, as answers to a question of the assistant."""


def read_language(
    code: str, data: Mapping[str, Any], tool_names: Mapping[str, Any], parse: Parse, name: str
) -> Language:
    """Read a phrase book from the content of its file and of ``tool_names.yaml``.

    ``name`` is for error messages. Raises ConfigError.
    """
    place = name
    try:
        rules = {key: parse(value) for key, value in data.get("rules", {}).items()}
        place = f"{name}: politeness"
        politeness = data.get("politeness", {})
        before, after = (
            nodes.fill(parse(politeness.get(key, "")), rules) for key in ("before", "after")
        )
        intents = []
        for intent_name, entry in data["intents"].items():
            place = f"{name}: intents.{intent_name}"
            intents.append(_intent(intent_name, entry, rules, parse))
        place = f"{name}: automatic"
        automatic = _automatic(data["automatic"], tool_names, rules, parse)
        place = f"{name}: rewrites"
        rewrites = tuple(
            Rewrite(re.compile(pattern, re.IGNORECASE), replacement)
            for pattern, replacement in data.get("rewrites", {}).items()
        )
        place = f"{name}: on_off"
        on, off = data["on_off"]
        place = f"{name}: numbers"
        numbers = Numbers(data["numbers"])
        return Language(
            *(code, before, after, rewrites, tuple(intents), automatic, (on, off), numbers),
            clock=data["clock"],
            comma=data.get("comma", ", "),
            said=data.get("said", {}),
            answers=_answers(code),
        )
    except (ValueError, TypeError, KeyError, AttributeError, re.error) as error:
        what = str(error).replace("\n", " ")
        raise ConfigError(f"phrase book {place}: {type(error).__name__}: {what}") from error


def _answers(code: str) -> tuple[Intent, ...]:
    """Return the intents of yes and no, for the case that no question is open."""
    words = word_list("consent").get(code)
    if words is None:
        return ()
    return tuple(
        Intent(name, tuple(map(nodes.words, said)), "{nothing_asked}", polite=True)
        for name, said in (("yes", words["yes"]), ("no", words["no"]))
    )


def _intent(name: str, entry: Mapping[str, Any], rules: Mapping[str, Node], parse: Parse) -> Intent:
    known = {
        *("sentences", "reply", "tool", "arguments", "lists", "missing", "then", "polite"),
        *("example", "final", "last", "ranges", "words"),
    }
    if unknown := set(entry) - known:
        raise ValueError(f"unknown keys {sorted(unknown)}")
    then = entry.get("then")
    tool = entry.get("tool", "")
    return Intent(
        name,
        tuple(nodes.fill(parse(sentence), rules) for sentence in entry["sentences"]),
        entry["reply"],
        tool=tool,
        arguments=entry.get("arguments", {}),
        lists={
            slot: tuple((nodes.fill(parse(said), rules), value) for value, said in _values(listed))
            for slot, listed in entry.get("lists", {}).items()
        },
        ranges={
            slot: (int(low), int(high)) for slot, (low, high) in entry.get("ranges", {}).items()
        },
        words={slot: tuple(groups) for slot, groups in entry.get("words", {}).items()},
        missing=entry.get("missing", ""),
        then=FollowUp(then["tool"], then["arguments"]) if then else None,
        polite=entry.get("polite", bool(tool)),
        final=entry.get("final", False),
        last=entry.get("last", False),
        example=entry.get("example", ""),
    )


def _values(listed: Mapping[Any, str] | Sequence[str]) -> Iterator[tuple[Any, str]]:
    """Yield each value of a slot with its words."""
    if isinstance(listed, Mapping):
        yield from listed.items()
    else:
        yield from ((AS_SAID, said) for said in listed)


def _automatic(
    entry: Mapping[str, Any], names: Mapping[str, Any], rules: Mapping[str, Node], parse: Parse
) -> Automatic:
    def filled(text: str) -> Node:
        # <object>, <thing> and <action> are filled in when the tool is known.
        return nodes.replace(
            parse(text),
            lambda leaf: (
                nodes.fill(leaf, rules)
                if isinstance(leaf, nodes.Rule) and leaf.name in rules
                else leaf
            ),
        )

    def filled_all(sections: Mapping[str, list[str]]) -> dict[str, tuple[Node, ...]]:
        return {key: tuple(map(filled, sentences)) for key, sentences in sections.items()}

    return Automatic(
        queries=frozenset(names["queries"]),
        setters=frozenset(names["setters"]),
        verbs=frozenset(names["verbs"]),
        final_verbs=frozenset(names["final_verbs"]),
        unspoken=frozenset(names.get("unspoken", ())),
        own_names=entry.get("own_names", False),
        descriptions=re.compile(entry["descriptions"]) if "descriptions" in entry else None,
        polite_queries=entry.get("polite_queries", True),
        examples=frozenset(entry.get("examples", ())),
        verb_sentences=filled_all(entry["verbs"]),
        sentences=filled_all(entry["sentences"]),
        replies=entry["replies"],
        words={key: parse(str(value)) for key, value in entry.get("words", {}).items()},
        on_off=tuple((filled(said), value) for value, said in entry["on_off"].items()),
        colours=tuple(
            (filled(said), (int(r), int(g), int(b))) for said, (r, g, b) in entry["colours"].items()
        ),
        units=tuple(
            (frozenset(unit["arguments"]), filled(unit["say"])) for unit in entry.get("units", [])
        ),
    )
