"""The last lines of the log of this process, in memory, without private content.

Lines that hold users' words by the wish of the settings (``logging.words``, ``tools.log_content``)
are marked where they are written, and are not kept here.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from vixio.core.log_fields import PRIVATE, log_fields
from vixio.core.well_formed import well_formed
from vixio.telemetry.logging.fields import fields_of

MAX_LINES: Final = 1_000
MAX_TEXT: Final = 500
"""Characters of the message and of each field."""
MAX_FIELDS: Final = 40


class RecentLines(logging.Handler):
    """Keeps what passes. Ids are microseconds since 1970 and rise, so that lines of several
    processes can be put in order. May be used from any thread."""

    def __init__(self, size: int = MAX_LINES) -> None:
        super().__init__()
        self._lines: deque[dict[str, Any]] = deque(maxlen=size)
        self._last = 0
        self._guard = threading.Lock()
        self.withheld = 0
        """Lines with private content."""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line; one with private content is counted only."""
        if getattr(record, PRIVATE, False):
            self.withheld += 1
            return
        if record.levelno < logging.WARNING and not _ours(record.name):
            return  # of other libraries only warnings are known to hold no words
        shown = {key: _value(each) for key, each in {**log_fields(), **fields_of(record)}.items()}
        if record.exc_info and record.exc_info[0] is not None:
            shown["exception"] = record.exc_info[0].__name__  # its text may be anything
        line = {
            "level": record.levelname,
            "logger": record.name,
            "message": _clipped(_message(record)),
            "fields": dict(list(shown.items())[:MAX_FIELDS]),
        }
        with self._guard:
            self._last = max(self._last + 1, time.time_ns() // 1000)
            self._lines.append({"id": self._last, "number": record.levelno, **line})

    def after(
        self, after: int = 0, number: int = 0, limit: int = MAX_LINES
    ) -> list[dict[str, Any]]:
        """Return the last lines behind an id, of a level (its number) and above, oldest first."""
        with self._guard:
            lines = list(self._lines)
        found = [each for each in lines if each["id"] > after and each["number"] >= number]
        return found[-limit:]


def _ours(name: str) -> bool:
    return name == "vixio" or name.startswith("vixio.")


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError):  # the arguments do not fit the message
        return str(record.msg)


def _value(value: object) -> Any:  # noqa: ANN401 - JSON
    match value:
        case None | bool() | int():
            return value
        case float():
            return value if abs(value) < float("inf") else str(value)
        case str():
            return _clipped(value)
        case list() | tuple():
            return [_value(each) for each in value[:MAX_FIELDS]]
        case Mapping():
            return _clipped(json.dumps(dict(value), ensure_ascii=False, default=str))
        case _:
            return _clipped(str(value))


def _clipped(text: str) -> str:
    text = well_formed(text)  # as JSON has no lone surrogates
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


RECENT: Final = RecentLines()
"""Those of this process."""
