"""A phrase book with one session's tools: matches text, and makes the grammar of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from vixio.core.messages import message
from vixio.core.tools.names import safe_tool_name
from vixio.core.tools.types import own_words
from vixio.language.phrasebook import nodes
from vixio.language.phrasebook.automatic import automatic_intents, first_sentence
from vixio.language.phrasebook.grammar import Grammar, GrammarBuilder
from vixio.language.phrasebook.match import Binding, Match
from vixio.language.phrasebook.matcher import Filled, Reader, walk
from vixio.language.phrasebook.nodes import Node, Slot
from vixio.language.phrasebook.numbers import MAX_NUMBER
from vixio.language.phrasebook.reply import Renderer
from vixio.language.phrasebook.signature import ToolSignature
from vixio.language.phrasebook.slots import (
    ChoiceSlot,
    SlotKind,
    TextSlot,
    examples_of,
    kind_of,
    properties_of,
    required_of,
)
from vixio.language.phrasebook.template import SLOT, Intent, Language
from vixio.language.phrasebook.text import Tokens, fold, join, tokenize

MAX_EXAMPLES = 6
"""Sentences that the help names; a listener cannot remember more."""


_HEARD: Final = "_heard"
"""Behind the name of an intent whose words for an argument without values are the examples of the
tool's schema."""


@dataclass(frozen=True, slots=True)
class _Sentence:
    node: Node
    slots: Mapping[str, SlotKind]
    binding: Binding

    @property
    def open(self) -> bool:
        """Whether it has a slot for arbitrary words, which only typed text can fill."""
        return any(
            isinstance(leaf, Slot) and isinstance(self.slots.get(leaf.name), TextSlot)
            for leaf in nodes.leaves(self.node)
        )


class CompiledPhrases:
    """The sentences for a list of tools. Immutable and shared; made by ``PhraseBook.compile``."""

    def __init__(
        self, language: Language, tools: Sequence[ToolSignature], fingerprint: str
    ) -> None:
        self.fingerprint = fingerprint
        self._language = language
        self._renderer = Renderer(language, _said(language))
        self._tools = {tool.alias: tool for tool in tools}
        self._sentences: list[_Sentence] = []
        self._named: set[str] = set()
        for intent in language.intents:
            self._bind(intent)
        if any(tool.confirm for tool in tools):
            for intent in language.answers:
                self._bind(intent)
        for tool in tools:
            if tool.alias not in self._named and tool.alias not in language.automatic.unspoken:
                self._bind_automatic(tool)
        # Last: a slot for arbitrary words would match sentences that belong to other intents.
        self._sentences.sort(key=lambda sentence: (sentence.open, sentence.binding.intent.last))
        self._by_first: dict[str, list[int]] = {}
        self._by_anything: list[int] = []
        for number, sentence in enumerate(self._sentences):
            first, _ = nodes.first_words(sentence.node)
            if first is None:
                self._by_anything.append(number)
            else:
                for word in set(map(fold, first)):
                    self._by_first.setdefault(word, []).append(number)

    @property
    def intents(self) -> tuple[str, ...]:
        """The names of the intents that are available with these tools."""
        return tuple(dict.fromkeys(item.binding.intent.name for item in self._sentences))

    def match(self, text: str) -> Match | None:
        """Return the meaning of ``text`` (typed or recognised); None if it is not understood."""
        tokens = tokenize(text, self._language.rewrites)
        match = self._match(tokens.folded(), text)
        if match is None and (plain := tokenize(text)).words != tokens.words:
            # A shorthand of the language may be a word of a tool.
            match = self._match(plain.folded(), text)
        return match

    def _match(self, tokens: Tokens, text: str) -> Match | None:
        if not tokens.words:
            return None
        polite_starts = [end for end, _ in self._walk(self._language.before, 0, tokens)]
        for at in dict.fromkeys((0, *polite_starts)):
            if at >= len(tokens.words):
                continue
            for sentence in self._candidates(tokens.words[at]):
                if at and not sentence.binding.intent.polite:
                    continue
                filled = self._read(sentence, at, tokens)
                if filled is not None:
                    return Match(
                        sentence.binding,
                        filled,
                        self._language.code,
                        self._renderer,
                        self._help() if "{help}" in sentence.binding.intent.reply else "",
                        text.strip(),
                    )
        return None

    def number_words(self, number: int) -> list[str]:
        """Return the ways to say a number, its digits first."""
        ways = self._language.numbers.say(number) if abs(number) <= MAX_NUMBER else ()
        return [str(number), *map(join, ways)]

    def said(self, value: Filled, text: str) -> tuple[str, str]:
        """Return a value's words in ``text``, and the word behind those of a number.

        Both are empty if the value is not in it.
        """
        tokens = tokenize(text, self._language.rewrites)
        folded, size = tokens.folded(), len(tokens.words)
        if type(value.value) is int:
            for at, end, number in self._numbers_in(folded):
                if number == value.value:
                    after = self._walk(self._language.after, end, folded)
                    polite = any(stop > end for stop, _ in after)
                    unit = tokens.original(end, end + 1) if end < size and not polite else ""
                    return tokens.original(at, end), unit
            return "", ""
        words = tokenize(value.said).folded().words
        for at in range(size - len(words) + 1):
            if words and folded.words[at : at + len(words)] == words:
                return tokens.original(at, at + len(words)), ""
        return "", ""

    def numbers_in(self, text: str) -> dict[int, str]:
        """Return the numbers in ``text``, with their words."""
        tokens = tokenize(text, self._language.rewrites)
        found = self._numbers_in(tokens.folded())
        return {number: tokens.original(at, end) for at, end, number in found}

    def _numbers_in(self, folded: Tokens) -> Iterator[tuple[int, int, int]]:
        """Yield the tokens from and to which a number goes, and the number; the longest ones."""
        at = 0
        while at < len(folded.words):
            found = next(self._language.numbers.read(folded.words, at), None)
            if found is not None:
                yield at, *found
            at = at + 1 if found is None else found[0]

    def answering(self, match: Match) -> Match | None:
        """Return ``match``, of another language's book, with the words of this one.

        None if it has no intent of that name, or if free words of the user belong to the reply.
        """
        meant = _meaning(match.intent)
        for sentence in self._sentences:
            intent = sentence.binding.intent
            if _meaning(intent.name) != meant or sentence.binding.tool != match.binding.tool:
                continue
            said = [_said_as(sentence, each) for each in match.filled]
            if None in said:
                return None
            return replace(
                match,
                binding=sentence.binding,
                filled=tuple(each for each in said if each is not None),
                language=self._language.code,
                renderer=self._renderer,
                help=self._help() if match.help else "",
            )
        return None

    def grammar(
        self, speakable: Callable[[str], bool] | None = None, more: Sequence[str] = ()
    ) -> Grammar:
        """Return the grammar of all sentences that can be spoken; takes about 10 ms.

        ``speakable``: whether a word has a pronunciation. Sentences with other words are left out.
        ``more``: phrases that are no sentences of the book, and may be spoken too.
        """
        builder = GrammarBuilder(self._language.numbers, speakable)
        builder.politeness(self._language.before, self._language.after)
        for sentence in self._sentences:
            builder.add(sentence.node, sentence.slots, polite=sentence.binding.intent.polite)
        for phrase in more:
            words = tokenize(phrase, self._language.rewrites).words
            builder.add(nodes.seq(*map(nodes.Word, words)), {}, polite=True)
        return builder.build()

    def examples(self) -> list[str]:
        """Return example sentences for these tools, the most useful first."""
        found: dict[str, None] = {}
        for item in self._sentences:
            intent = item.binding.intent
            if intent.example and (example := _example(item, intent.example)):
                found[example] = None
        seen: set[str] = set()
        kinds = self._language.automatic.examples
        for item in self._sentences:
            intent = item.binding.intent
            if kinds and intent.name.partition(":")[0] not in kinds:
                continue
            if intent.automatic and intent.name not in seen and not item.slots:
                seen.add(intent.name)
                found[join(first_sentence(item.node))] = None
        return list(found)

    def _help(self) -> str:
        language = self._language.code
        # Half of them from the end: the automatic ones, which are special to this device.
        examples = self.examples()
        if len(examples) > MAX_EXAMPLES:
            half = MAX_EXAMPLES // 2
            examples = [*examples[:half], *examples[-half:]]
        if not examples:
            return message("help_nothing", language)
        listed = message("help_join", language).join(examples)
        return message("help", language, examples=listed)

    def _candidates(self, word: str) -> Iterator[_Sentence]:
        for number in sorted((*self._by_first.get(word, ()), *self._by_anything)):
            yield self._sentences[number]

    def _walk(
        self, node: Node, at: int, tokens: Tokens
    ) -> Iterator[tuple[int, tuple[Filled, ...]]]:
        return walk(node, at, Reader(tokens, {}, self._language.numbers))

    def _read(self, sentence: _Sentence, at: int, tokens: Tokens) -> tuple[Filled, ...] | None:
        size = len(tokens.words)
        reader = Reader(tokens, sentence.slots, self._language.numbers)
        for end, filled in walk(sentence.node, at, reader):
            if end == size:
                return filled
            if sentence.binding.intent.polite and any(
                last == size for last, _ in self._walk(self._language.after, end, tokens)
            ):
                return filled
        return None

    def _bind(self, intent: Intent) -> None:
        if not intent.tool:
            self._add(intent, {}, Binding(intent))
            return
        tool = self._tools.get(safe_tool_name(intent.tool))
        if tool is None:
            return
        schema = properties_of(tool.parameters)
        then_tool = ""
        then_schema: Mapping[str, object] = {}
        if intent.then is not None:
            second = self._tools.get(safe_tool_name(intent.then.tool))
            if second is None:
                return
            then_tool, then_schema = second.alias, properties_of(second.parameters)
            if not _covers(required_of(second.parameters), intent.then.arguments, then_schema):
                return
        slots: dict[str, SlotKind] = {}
        for node in intent.sentences:
            for leaf in nodes.leaves(node):
                if isinstance(leaf, Slot) and leaf.name not in slots:
                    of = schema.get(_argument_of(leaf.name, intent), {})
                    kind: SlotKind | None
                    if (groups := intent.words.get(leaf.name)) is not None:
                        kind = self._own_words(of, groups)
                    else:
                        heard = examples_of(of) if intent.name.endswith(_HEARD) else ()
                        own = intent.lists.get(leaf.name) or heard
                        kind = kind_of(of, own, intent.ranges.get(leaf.name))
                    if kind is None:
                        return
                    slots[leaf.name] = kind
        given = {*(_argument_of(slot, intent) for slot in slots), *intent.arguments}
        if not _covers(required_of(tool.parameters), given, schema):
            return
        self._named.update({tool.alias, then_tool} - {""})
        self._add(intent, slots, Binding(intent, tool.alias, then_tool, (schema, then_schema)))

    def _own_words(self, schema: Mapping[str, Any], groups: Sequence[str]) -> SlotKind:
        """Return a choice of the words that the schema lists in these groups, maybe of none."""
        numbers = self._language.numbers

        def spoken(word: str) -> Node:
            ways = numbers.say(int(word)) if word.isdecimal() and int(word) <= MAX_NUMBER else ()
            return nodes.alt(nodes.Word(word), *(nodes.words(join(way)) for way in ways))

        choices: dict[str, Node] = {}
        for text in own_words(schema, groups):
            words = tokenize(text).words
            choices[text] = nodes.seq(*map(spoken, words)) if words else nodes.IMPOSSIBLE
        return ChoiceSlot(
            tuple((said, text) for text, said in choices.items() if said != nodes.IMPOSSIBLE)
        )

    def _bind_automatic(self, tool: ToolSignature) -> None:
        schema = properties_of(tool.parameters)
        for made in automatic_intents(
            tool.alias, tool.description, tool.parameters, self._language
        ):
            binding = Binding(made.intent, tool.alias, "", (schema, {}), made.said)
            self._add(made.intent, made.slots, binding)

    def _add(self, intent: Intent, slots: Mapping[str, SlotKind], binding: Binding) -> None:
        for node in intent.sentences:
            used = {leaf.name for leaf in nodes.leaves(node) if isinstance(leaf, Slot)}
            kinds = {name: kind for name, kind in slots.items() if name in used}
            self._sentences.append(_Sentence(node, kinds, binding))


def _example(sentence: _Sentence, example: str) -> str:
    """Return ``example`` with words for its slots; empty if there are none."""
    for name, kind in sentence.slots.items():
        if f"{{{name}}}" in example and isinstance(kind, ChoiceSlot):
            words = first_sentence(kind.choices[0][0]) if kind.choices else ()
            example = example.replace(f"{{{name}}}", join(words)) if words else ""
    return "" if "{" in example else example


def _meaning(intent: str) -> str:
    """Return an intent's name without what tells heard sentences from typed ones."""
    return intent.removesuffix(_HEARD).removesuffix("_typed")


def _said_as(sentence: _Sentence, filled: Filled) -> Filled | None:
    """Return a slot with the words of ``sentence``'s language; None if there are none."""
    if type(filled.value) is int or f"{{{filled.name}}}" not in sentence.binding.intent.reply:
        return filled
    kind = sentence.slots.get(filled.name)
    choices = kind.choices if isinstance(kind, ChoiceSlot) else ()
    same = (said for said, value in choices if value == filled.value)
    return next((replace(filled, said=join(first_sentence(said))) for said in same), None)


def _argument_of(slot: str, intent: Intent) -> str:
    """Return the tool's argument that the template's slot fills."""
    return next(
        (
            name
            for name, given in intent.arguments.items()
            if isinstance(given, str) and slot in SLOT.findall(given)
        ),
        slot,
    )


def _covers(
    required: Sequence[str], given: Mapping[str, object] | set[str], schema: Mapping[str, object]
) -> bool:
    """Return whether ``given`` has all required arguments and none that the tool lacks."""
    return set(required) <= set(given) <= set(schema)


def _said(language: Language) -> dict[str, str]:
    """Return what is said for the words in names of tools and fields."""
    return {word: join(first_sentence(node)) for word, node in language.automatic.words.items()}
