"""Formats of a log line: text for people, one JSON object for machines."""

from __future__ import annotations

import json
import re
import traceback
from typing import TYPE_CHECKING, Any

from vixio.telemetry.logging.fields import renamed

if TYPE_CHECKING:
    from loguru import Record

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029]")
_PLAIN = re.compile(r"[^\s\"'=\x00-\x1f\x7f]+")

# Loads the codec now: a line about exhausted file descriptors could not load it any more.
"".encode("unicode_escape")


def format_text(record: Record) -> str:
    """Return a template for loguru: time, level, logger, message, then ``key=value`` fields.

    Message and fields are inserted by reference, so nothing in them is read as markup.
    """
    extra = record["extra"]
    fields = "".join(f" {key}={_value(value)}" for key, value in extra.items())
    extra["_line"] = _CONTROL.sub(_escape, record["message"]) + fields
    return (
        "<dim>{time:YYYY-MM-DD HH:mm:ss.SSS}</dim> <level>{level: <8}</level> "
        "<dim>{name}</dim>  {extra[_line]}\n{exception}"
    )


def format_json(record: Record) -> str:
    """Return a template for loguru: one JSON object a line.

    A field with the name of a standard key (``level``) is shown with an underscore (``level_``).
    """
    extra = record["extra"]
    line: dict[str, Any] = {
        "time": record["time"].isoformat(timespec="milliseconds"),
        "level": record["level"].name,
        "logger": record["name"],
        "message": record["message"],
    }
    if (error := record["exception"]) is not None:
        line["exception"] = "".join(traceback.format_exception(*error))
    line.update(renamed(extra, line))
    extra["_line"] = json.dumps(line, ensure_ascii=False, default=str)
    return "{extra[_line]}\n"


def _value(value: object) -> str:
    """Return a field's value for people; the elements of a list are separated by commas."""
    text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)


def _escape(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode()
