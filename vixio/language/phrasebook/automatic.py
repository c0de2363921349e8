"""Phrases for tools without a template, from the tool's name, description and schema.

Only the name that the model sees is read (``self_lamp_turn_on``), since an agent framework knows
no other, and the agent must understand everything that the recogniser's grammar contains.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from vixio.core.tools.types import USERS_WORDS
from vixio.language.phrasebook import nodes
from vixio.language.phrasebook.nodes import (
    IMPOSSIBLE,
    NOTHING,
    Node,
    Rule,
    Seq,
    Slot,
    Word,
    alt,
    seq,
    ways,
)
from vixio.language.phrasebook.slots import (
    ChoiceSlot,
    SlotKind,
    kind_of,
    properties_of,
    required_of,
)
from vixio.language.phrasebook.template import SENTENCE, Automatic, Intent, Language
from vixio.language.phrasebook.text import is_unspaced, join, tokenize

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD_GAP = re.compile(r"[_\s-]+")
_NOISE = frozenset({"self", "mcp", "tool"})
_RGB = (("r", "g", "b"), ("red", "green", "blue"))
_OF_ITSELF = frozenset({"state", "power", "status", "on", "enabled", "enable", "active"})
"""Properties that stand for the thing itself: to switch the lamp's power is to switch the lamp."""

MAX_DESCRIPTION_WORDS = 8
"""A description of up to this length may be used as a command; a longer one is an explanation."""


@dataclass(frozen=True, slots=True)
class ToolName:
    """The parts of ``self_led_strip_set_brightness``: thing, verb, and the object of the verb."""

    thing: tuple[str, ...]
    verb: str
    rest: tuple[str, ...]

    @property
    def action(self) -> tuple[str, ...]:
        """The verb with its object: ("go", "forward")."""
        return (*self.verb.split("_"), *self.rest)


@dataclass(frozen=True, slots=True)
class AutomaticIntent:
    """An intent made for a tool, its slots, and the words that its reply may use."""

    intent: Intent
    slots: Mapping[str, SlotKind]
    said: Mapping[str, str]


def read_name(alias: str, data: Automatic) -> ToolName:
    """Split a tool's name at its first verb. Without a known verb, the first word is the verb."""
    parts = _CAMEL.sub("_", alias).replace("-", "_").lower().split("_")
    words = [part for part in parts if part and part not in _NOISE]
    verbs = data.verbs | data.queries | data.setters
    for index, word in enumerate(words):
        pair = "_".join(words[index : index + 2])
        if pair in verbs:
            return ToolName(tuple(words[:index]), pair, tuple(words[index + 2 :]))
        if word in verbs:
            return ToolName(tuple(words[:index]), word, tuple(words[index + 1 :]))
    return ToolName((), words[0] if words else "", tuple(words[1:]))


def automatic_intents(
    alias: str, description: str, parameters: Mapping[str, Any], language: Language
) -> Iterator[AutomaticIntent]:
    """Yield the intents for one tool; none if no sensible sentence can be made."""
    name = read_name(alias, language.automatic)
    if name.verb:
        maker = _Maker(alias, name, description, language)
        yield from maker.intents(properties_of(parameters), required_of(parameters))


class _Maker:
    def __init__(self, alias: str, name: ToolName, description: str, language: Language) -> None:
        self._alias = alias
        self._name = name
        self._description = description.strip()
        self._data = language.automatic

    def intents(
        self, properties: Mapping[str, Any], required: tuple[str, ...]
    ) -> Iterator[AutomaticIntent]:
        if len(required) == 1 and properties[required[0]].get("description") == USERS_WORDS:
            yield from self._plain({required[0]: SENTENCE})
        elif not required:
            yield from self._plain({})
        spoken = required or tuple(properties)[:1]
        for names in _RGB:
            if set(names) <= set(properties) and set(required) <= set(names):
                yield from self._colour(names)
                return
        if len(spoken) == 1:
            yield from self._value(spoken[0], properties[spoken[0]])

    def _plain(self, given: Mapping[str, Any]) -> Iterator[AutomaticIntent]:
        name, data = self._name, self._data
        if name.verb in data.queries:
            thing = self._thing(name.rest)
            sentences = [*self._fill("query", thing=thing), *self._described(query=True)]
            if name.thing and name.rest:
                sentences += self._fill("query_short", thing=thing)
            said = self._said_of(name.rest)
            yield from self._make("query", "query", sentences, {}, {"thing": said}, given)
            return
        verb = name.verb.replace("switch_", "turn_").replace("power_", "turn_")
        target = (*name.thing, *name.rest)
        if verb in data.verb_sentences and target:
            sentences = _filled(data.verb_sentences[verb], object=self._words(target))
            sentences += self._described()
            yield from self._make(verb, verb, sentences, {}, {"object": self._said(target)}, given)
            return
        action, thing = self._words(name.action), self._words(name.thing)
        sentences = self._described()
        # A single word is not a command: it is recognised too easily in other words.
        alone = alt(*(way for way in ways(action) if isinstance(way, Seq)))
        sentences += self._fill("action", action=alone)
        if name.thing:
            sentences += self._fill("object_verb", object=thing, action=action)
            if not name.rest:
                sentences += self._fill("verb_object", object=thing, action=action)
        elif name.rest:
            verb_words = self._words((name.verb,))
            sentences += self._fill("verb_object", object=self._words(name.rest), action=verb_words)
        else:
            sentences += self._fill("single", action=action)
        yield from self._make("do", "done", sentences, {}, {}, given)

    def _value(self, argument: str, schema: Mapping[str, Any]) -> Iterator[AutomaticIntent]:
        name, data = self._name, self._data
        on_off = data.on_off if schema.get("type") == "boolean" else ()
        kind = kind_of(schema, on_off or self._options(schema))
        if kind is None:
            return
        slots = {"value": kind}
        arguments = {argument: "{value}"}
        rest = name.rest or (() if argument == "value" else (argument,))
        thing = self._thing(rest)
        said = {"thing": self._said_of(rest)}
        if on_off:
            if rest and rest[-1] in _OF_ITSELF and name.thing:
                thing = alt(thing, self._words(name.thing))
            sentences = self._fill("switch", thing=thing)
        elif name.verb in data.setters:
            sentences = [*self._fill("set", thing=thing), *self._described()]
        else:
            action, objects = self._words(name.action), self._words(name.thing)
            sentences = self._fill("do_number", action=action, object=objects)
            sentences = [*sentences, *self._described()]
            units = self._with_unit(sentences, (argument,))
            yield from self._make("do", "done", units, slots, {}, arguments)
            return
        units = self._with_unit(sentences, (*rest, argument))
        reply = "switch" if on_off else "set"
        yield from self._make("set", reply, units, slots, said, arguments)

    def _colour(self, names: tuple[str, ...]) -> Iterator[AutomaticIntent]:
        rest = tuple(word for word in self._name.rest if word != "rgb")
        things = self._thing((*rest, "color")) if not rest else self._thing(rest)
        objects = self._words(self._name.thing) if self._name.thing else things
        sentences = self._fill("colour", object=objects, thing=things)
        arguments = {name: {"slot": "value", "item": index} for index, name in enumerate(names)}
        slots = {"value": ChoiceSlot(self._data.colours)}
        yield from self._make("colour", "colour", sentences, slots, {}, arguments)

    def _make(
        self,
        kind: str,
        reply: str,
        sentences: list[Node],
        slots: Mapping[str, SlotKind],
        said: Mapping[str, str],
        arguments: Mapping[str, Any] | None = None,
    ) -> Iterator[AutomaticIntent]:
        usable = tuple(
            dict.fromkeys(item for item in sentences if item not in (IMPOSSIBLE, NOTHING))
        )
        if not usable:
            return
        intent = Intent(
            f"{kind}:{self._alias}",
            usable,
            self._data.replies.get(reply, self._data.replies["done"]),
            tool=self._alias,
            arguments=arguments or {},
            missing="" if kind == "query" else self._data.replies["done"],
            polite=kind != "query" or self._data.polite_queries,
            final=self._name.verb in self._data.final_verbs,
            automatic=True,
        )
        yield AutomaticIntent(intent, slots, said)

    def _fill(self, key: str, **rules: Node) -> list[Node]:
        return _filled(self._data.sentences.get(key, ()), **rules)

    def _with_unit(self, sentences: list[Node], about: tuple[str, ...]) -> list[Node]:
        for names, unit in self._data.units:
            if names & set(about):
                value = seq(Slot("value"), unit)
                return [nodes.swap(item, Slot("value"), value) for item in sentences]
        return sentences

    def _thing(self, rest: tuple[str, ...]) -> Node:
        """Name a property: "lamp brightness", "brightness of the lamp"."""
        both = self._words((*self._name.thing, *rest))
        return alt(both, *self._property("property", rest))

    def _said_of(self, rest: tuple[str, ...]) -> str:
        """Return what a property is called in a reply."""
        ways = self._property("said", rest)
        return join(first_sentence(ways[0])) if ways else self._said((*self._name.thing, *rest))

    def _property(self, key: str, rest: tuple[str, ...]) -> list[Node]:
        thing = self._name.thing
        if not rest or not thing:
            return []
        return self._fill(key, object=self._words(thing), rest=self._words(rest))

    def _words(self, names: tuple[str, ...]) -> Node:
        """Return the spoken form of a name's words; the longest known parts first."""
        said: list[Node] = []
        index = 0
        while index < len(names):
            for size in (3, 2, 1):
                known = self._data.words.get("_".join(names[index : index + size]))
                if known is not None and index + size <= len(names):
                    said.append(known)
                    index += size
                    break
            else:
                word = nodes.words(names[index])
                if word == NOTHING or not (self._data.own_names or _own_script(word, self._data)):
                    return IMPOSSIBLE
                said.append(word)
                index += 1
        return seq(*said)

    def _said(self, names: tuple[str, ...]) -> str:
        return join(first_sentence(self._words(names)))

    def _options(self, schema: Mapping[str, Any]) -> tuple[tuple[Node, Any], ...]:
        options = schema.get("enum")
        if not isinstance(options, list | tuple):
            return ()
        named = [option for option in options if isinstance(option, str)]
        said = [
            (self._words(tuple(re.split(r"[_\s-]+", option.lower()))), option) for option in named
        ]
        return tuple((say, value) for say, value in said if say not in (IMPOSSIBLE, NOTHING))

    def _described(self, *, query: bool = False) -> list[Node]:
        """Return the description as a command, if it is short enough."""
        first = re.split(r"[.;。；，,(（\n]", self._description, maxsplit=1)[0]
        found = tokenize(first).words
        if not found or not all(word.isalpha() for word in found):
            return []
        if not self._data.own_names:
            pattern = self._data.descriptions
            return [seq(*map(Word, found))] if pattern and pattern.fullmatch("".join(found)) else []
        if not 2 <= len(found) <= MAX_DESCRIPTION_WORDS or not all(map(str.isascii, found)):
            return []
        the = alt(Word("the"), NOTHING)
        said = [the if word in {"the", "a", "an"} else Word(word) for word in found]
        verbs = self._data.queries | self._data.setters | self._data.verbs
        if found[0] not in verbs and "_".join(found[:2]) not in verbs:
            return []
        if query:
            return self._fill("query", thing=seq(*said[1:]))
        return [seq(*said)]


def _filled(sentences: Iterable[Node], **rules: Node) -> list[Node]:
    """Fill the sentences; a sentence without words for one of its rules is left out."""
    filled = []
    for sentence in sentences:
        needed = {leaf.name for leaf in nodes.leaves(sentence) if isinstance(leaf, Rule)}
        if all(rules.get(rule, IMPOSSIBLE) not in (IMPOSSIBLE, NOTHING) for rule in needed):
            filled.append(nodes.fill(sentence, rules))
    return filled


def first_sentence(node: Node) -> list[str]:
    """Return the words of the first way through a tree."""
    if isinstance(node, Word):
        return [node.text]
    if isinstance(node, Seq):
        return [word for item in node.items for word in first_sentence(item)]
    if isinstance(node, nodes.Alt) and node.items:
        return first_sentence(node.items[0])
    return []


def _own_script(node: Node, data: Automatic) -> bool:
    return data.descriptions is not None and all(
        isinstance(leaf, Word) and is_unspaced(leaf.text) for leaf in nodes.leaves(node)
    )
