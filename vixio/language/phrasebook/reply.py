"""Fills a reply template with slots and with a tool's answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from vixio.core.errors import UNAVAILABLE
from vixio.core.messages import message
from vixio.core.tools.types import ASKS_NOTE, SPOKEN_NOTE
from vixio.language.phrasebook.template import Language
from vixio.language.phrasebook.text import join

_FIELD = re.compile(r"\{([^{}|]+)(?:\|(\w+))?\}")
_MAIN_KEYS = ("spoken", "text", "result", "response", "answer", "message", "description")
"""Fields in which tools put a sentence for people, among others; our own ready ones in the first.
"""


class Missing(Exception):
    """The result lacks a value that the reply needs."""


@dataclass(frozen=True, slots=True)
class Result:
    """A tool's answer as text, and as JSON if it is JSON. ``spoken``: the user has heard it."""

    text: str
    value: Any
    spoken: bool = False

    @classmethod
    def read(cls, text: str) -> Result:
        """Parse a tool's answer; text that is not JSON stays text."""
        spoken = text.startswith(SPOKEN_NOTE)
        for note in (SPOKEN_NOTE, ASKS_NOTE):
            if text.startswith(note):
                text = text.removeprefix(note).lstrip()
        try:
            return cls(text, json.loads(text), spoken)
        except ValueError:
            return cls(text, text, spoken)

    @property
    def failed(self) -> bool:
        """Whether it is a structured error, see ToolCallResult.for_model."""
        return isinstance(self.value, dict) and isinstance(self.value.get("error"), dict | str)

    @property
    def unconfirmed(self) -> bool:
        """Whether the tool did not run because it needs the user's yes."""
        return self._error_type == "confirmation_required"

    @property
    def not_found(self) -> bool:
        """Whether there was nothing that the tool could have done it to."""
        return self._error_type == "not_found"

    def apology(self, language: str) -> str:
        """Return what is said of a failed call."""
        if self._error_type == UNAVAILABLE:
            return str(self.value["error"].get("message", ""))
        return message("no_device" if self._error_type == "no_device" else "tool_failed", language)

    @property
    def _error_type(self) -> object:
        error = self.value.get("error") if isinstance(self.value, dict) else None
        return error.get("type") if isinstance(error, dict) else None

    def field(self, path: str) -> Any:  # noqa: ANN401 - whatever the JSON holds
        """Return the value at ``a.b.c``; raises Missing."""
        value = self.value
        for key in path.split("."):
            if not isinstance(value, dict) or value.get(key) is None:
                raise Missing(path)
            value = value[key]
        return value


@dataclass(frozen=True, slots=True)
class Renderer:
    """Renders templates in one language. ``words``: those for the names of fields."""

    language: Language
    words: Mapping[str, str]

    def render(self, template: str, values: Mapping[str, Any], result: Result | None) -> str:
        """Return the reply. Raises Missing if a value is missing."""

        def put(match: re.Match[str]) -> str:
            name, filter_name = match.group(1), match.group(2)
            value: Any
            if name in values:
                value = values[name]
            elif result is not None and name == "result":
                value = result.value
            elif result is not None and name.startswith("result."):
                value = result.field(name.removeprefix("result."))
            else:
                raise Missing(name)
            return self._filters()[filter_name or "plain"](value)

        return _FIELD.sub(put, template)

    def plain(self, value: Any) -> str:  # noqa: ANN401 - whatever the JSON holds
        """Return any JSON value in words. Raises Missing for an empty one."""
        if isinstance(value, bool):
            return self.language.on_off_said[not value]
        if isinstance(value, dict):
            for key in _MAIN_KEYS:
                if isinstance(value.get(key), str) and value[key].strip():
                    return self.plain(value[key])
            if len(value) == 1:
                return self.plain(next(iter(value.values())))
            return self._fields(value)
        if isinstance(value, list):
            return self.language.comma.join(self.plain(item) for item in value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        text = "" if value is None else str(value).strip()
        if not text:
            raise Missing("result")
        return text

    def said(self, value: Any) -> str:  # noqa: ANN401 - whatever the JSON holds
        """Return what a device reports in English ("strong") in the book's words for it."""
        text = self.plain(value)
        return self.language.said.get(text.lower(), text)

    def states(self, value: Any) -> str:  # noqa: ANN401 - whatever the JSON holds
        """Return pairs of names and states in words. Raises Missing for anything else."""
        pairs = [each for each in value or () if isinstance(each, list) and len(each) == 2]
        if not pairs:
            raise Missing("result")
        said = (join([*self.plain(name).split(), self.said(state)]) for name, state in pairs)
        return self.language.comma.join(said)

    def _fields(self, value: Mapping[str, Any]) -> str:
        said: list[str] = []
        for key, item in value.items():
            if item not in (None, "", [], {}) and (name := self._name(key)):
                with suppress(Missing):
                    said.append(f"{name} {self.plain(item)}")
        if not said:
            raise Missing("result")
        return self.language.comma.join(said)

    def _name(self, key: str) -> str:
        """Return a field's name in words; empty if there are none in this language."""
        if self.language.automatic.own_names:
            return key.replace("_", " ")
        known = [self.words.get(part, "") for part in key.lower().split("_")]
        return self.words.get(key.lower()) or (join(known) if all(known) else "")

    def time(self, value: Any) -> str:  # noqa: ANN401 - whatever the JSON holds
        """Return a time of day in words, from ``14:05``, ISO 8601, or JSON that contains one.

        By the book's ``clock``: ``time``, ``full`` for one without minutes, and both again in
        ``one`` for those of its ``hours`` that are singular.
        """
        moment = _moment(value)
        if not isinstance(moment, datetime | time):
            return self.plain(value)
        clock = self.language.clock
        one = clock.get("one", {"hours": ()})
        form = one if moment.hour in one["hours"] else clock
        return str(form["time" if moment.minute else "full"]).format(
            hour=moment.hour,
            hour12=moment.hour % 12 or 12,
            half="AM" if moment.hour < 12 else "PM",
            minute=moment.minute,
        )

    def date(self, value: Any) -> str:  # noqa: ANN401 - whatever the JSON holds
        """Return a date in words, from ISO 8601, or JSON that contains it.

        By the book's ``clock``: ``date``, ``weekdays``, ``months``, and ``days`` for those of a
        month that are not said as their number.
        """
        moment = _moment(value)
        if not isinstance(moment, date):
            return self.plain(value)
        clock = self.language.clock
        days = clock.get("days", ())
        return str(clock["date"]).format(
            weekday=clock["weekdays"][moment.weekday()],
            day=days[moment.day - 1] if moment.day <= len(days) else moment.day,
            month=clock["months"][moment.month - 1],
            year=moment.year,
        )

    def _filters(self) -> Mapping[str, Callable[[Any], str]]:
        return {
            "plain": self.plain,
            "said": self.said,
            "states": self.states,
            "time": self.time,
            "date": self.date,
        }


def _moment(value: Any) -> datetime | date | time | None:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        for key in ("datetime", "now", "local", "iso", "time", "date"):
            if (moment := _moment(value.get(key))) is not None:
                return moment
        return None
    if not isinstance(value, str):
        return None
    for read in (datetime.fromisoformat, time.fromisoformat):
        try:
            return read(value.strip())
        except ValueError:
            continue
    return None
