"""The meaning of a sentence: the calls to make, one after the other, and the words to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vixio.core.messages import message
from vixio.language.phrasebook.matcher import Filled
from vixio.language.phrasebook.reply import Missing, Renderer, Result
from vixio.language.phrasebook.slots import clamp
from vixio.language.phrasebook.template import SENTENCE, SLOT, Intent


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call to make: ``tool`` is its alias."""

    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Binding:
    """An intent, bound to the session's tools.

    ``schemas``: the properties of the tool and of the follow-up's tool. ``said``: words for the
    reply that are not in a slot.
    """

    intent: Intent
    tool: str = ""
    then_tool: str = ""
    schemas: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})
    said: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Match:
    """An understood sentence. ``language``: of the book. ``text``: as typed or recognised."""

    binding: Binding
    filled: tuple[Filled, ...]
    language: str
    renderer: Renderer
    help: str = ""
    text: str = ""

    def same_as(self, other: Match) -> bool:
        """Return whether both ask for the same."""

        def asked(match: Match) -> object:
            return match.intent, match.tool, {each.name: each.value for each in match.filled}

        return asked(self) == asked(other)

    @property
    def intent(self) -> str:
        """The intent's name; ``verb:alias`` for an automatic one."""
        return self.binding.intent.name

    @property
    def final(self) -> bool:
        """Whether it ends or erases something: to be done only if it was certainly said."""
        return self.binding.intent.final

    @property
    def tool(self) -> str | None:
        """The alias of the (first) tool to call, None if there is none."""
        return self.binding.tool or None

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the (first) call."""
        if not self.binding.tool:
            return {}
        intent, schema = self.binding.intent, self.binding.schemas[0]
        arguments = {
            slot.name: slot.value
            for slot in self.filled
            if slot.name in schema and slot.name not in intent.arguments
        }
        for name, given in intent.arguments.items():
            arguments[name] = self._argument(given, schema.get(name, {}))
        return arguments

    def proceed(self, results: Sequence[str] = ()) -> Call | str:
        """Return the next step, given the answers of the calls so far.

        It is a :class:`Call` to make, or the words to say, which end the turn. Pure.
        """
        if not self.binding.tool:
            return self.reply("")
        if not results:
            return Call(self.binding.tool, self.arguments)
        then = self.binding.intent.then
        if then is None or len(results) > 1:
            return self.reply(results[-1], first=results[0])
        first = Result.read(results[0])
        if self._failed(first):
            return first.apology(self.language)
        try:
            return Call(self.binding.then_tool, self._second_arguments(first))
        except Missing:
            return self._missing

    def reply(self, result: str, *, first: str = "") -> str:
        """Return the words to say after the last tool answered ``result``.

        ``first``: the answer of the first call, if there were two.
        """
        intent = self.binding.intent
        read = Result.read(result)
        if self.binding.tool and read.spoken:
            return ""
        if self._failed(read):
            return read.apology(self.language)
        if read.not_found:
            return intent.missing
        nothing_asked = message("nothing_asked", self.language)
        values: dict[str, Any] = {"help": self.help, "nothing_asked": nothing_asked}
        values |= self.binding.said
        values |= {slot.name: slot.said for slot in self.filled}
        try:
            if intent.then is not None and first:
                values |= self._second_arguments(Result.read(first))
            if "{recalled}" in intent.reply:
                values["recalled"] = recalled(read, self.language)
            return self.renderer.render(intent.reply, values, read if self.binding.tool else None)
        except Missing:
            return self._missing

    def failed(self, results: Sequence[str]) -> bool:
        """Return whether the words that :meth:`proceed` returns apologise for a failed call."""
        return bool(results) and self._failed(Result.read(results[-1]))

    def _failed(self, read: Result) -> bool:
        """Whether the answer of a tool says that it did not do it. That there is nothing like what
        was asked for is an answer, where there are words for it."""
        intent = self.binding.intent
        # A device answers false to a command that it could not carry out.
        refused = read.value is False and "{result" not in intent.reply
        # Those of an automatic intent only say that it is done.
        told = read.not_found and bool(intent.missing) and not intent.automatic
        return bool(self.binding.tool) and (refused or (read.failed and not told))

    @property
    def _missing(self) -> str:
        return self.binding.intent.missing or message("not_told", self.language)

    def _second_arguments(self, first: Result) -> dict[str, Any]:
        then = self.binding.intent.then
        schema = self.binding.schemas[1]
        arguments: dict[str, Any] = {}
        for name, given in (then.arguments if then else {}).items():
            if isinstance(given, Mapping) and "field" in given:
                value = first.field(str(given["field"]))
                if isinstance(value, bool) or not isinstance(value, int | float):
                    raise Missing(str(given["field"]))
                value = int(value) + int(given.get("add", 0))
                arguments[name] = clamp(value, schema.get(name, {}))
            else:
                arguments[name] = self._argument(given, schema.get(name, {}))
        return arguments

    def _argument(self, given: object, schema: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
        if given == SENTENCE:
            return self.text
        if isinstance(given, Mapping) and "slot" in given:
            return self._value(str(given["slot"]))[int(given["item"])]
        if isinstance(given, str) and (slots := SLOT.findall(given)):
            if len(slots) == 1 and given == f"{{{slots[0]}}}":
                return self._value(slots[0])
            return SLOT.sub(lambda slot: str(self._value(slot[1])), given)
        if isinstance(given, int) and not isinstance(given, bool):
            return clamp(given, schema)
        return given

    def _value(self, slot: str) -> Any:  # noqa: ANN401 - whatever the slot holds
        return next((filled.value for filled in self.filled if filled.name == slot), None)


def recalled(result: Result, language: str) -> str:
    """Return the facts in a sentence: the answer of ``recall_facts`` is for a model.

    Raises Missing for an answer of another form.
    """
    facts = result.field("facts")
    if not isinstance(facts, list):
        raise Missing("facts")
    if not facts:
        return message("memory_empty", language)
    listed = message("facts_join", language).join(str(fact).rstrip(".。") for fact in facts)
    return message("recalled", language, n=len(facts), facts=listed)
