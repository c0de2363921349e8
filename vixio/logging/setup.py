"""Where log records go: standard error, one line each, from loguru and from ``logging`` alike.

A record is a constant message with its values in fields. Other libraries may write a user's words
or a URL with a key into theirs (at INFO and below), so only their warnings are let through.
"""

from __future__ import annotations

import json as json_codec
import logging
import re
import sys
import traceback
from typing import TYPE_CHECKING, Any, TextIO

from loguru import logger

from vixio.logging.writer import LogWriter

if TYPE_CHECKING:
    from loguru import Record

LEVELS = {"TRACE": 5, "DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50}
"""Names and the numbers that ``logging`` and loguru share for them."""

_CHATTY = ("websockets", "vixio.transports.xiaozhi.websockets", "uvicorn", "starlette")
"""Servers (one logs under a name of ours) whose INFO is our DEBUG: every connection, every start.

Their own DEBUG is never let through: it shows headers with tokens, and frames with words.
"""

_SCANNER = "opening handshake failed"
"""What websockets logs as an error, with a traceback, for each port scanner that comes by."""

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029]")
_PLAIN = re.compile(r"[^\s\"'=\x00-\x1f\x7f]+")

# Loads the codec: the first line that needs it may be the one that no file can be opened any more.
"".encode("unicode_escape")

_writer = LogWriter()


def configure_logging(
    level: str = "INFO", json: bool = False, stream: TextIO | None = None
) -> None:
    """Send records of ``level`` and above to ``stream``; ``json``: one object a line.

    ``stream``: standard error if none is given.

    Idempotent: the last call holds. Writing happens in a thread, so a slow terminal or a full pipe
    delays no device; :func:`flush_logs` waits for it.
    """
    number = LEVELS[level.upper()]
    _writer.flush()
    stream = stream or sys.stderr
    _writer.open(stream)
    logger.remove()
    logger.add(
        _writer.write,
        level=number,
        format=_format_json if json else _format_text,
        colorize=not json and stream.isatty(),
        backtrace=False,
        diagnose=False,  # it prints the values of variables: words, tokens
    )
    root = logging.getLogger()
    root.handlers = [_Handler()]
    root.setLevel(max(number, logging.WARNING))
    logging.getLogger("vixio").setLevel(number)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(
            logging.INFO if number <= logging.DEBUG else logging.WARNING
        )


def flush_logs(timeout: float = 2.0) -> None:
    """Wait, for at most ``timeout`` seconds, until everything logged so far is written."""
    _writer.flush(timeout)


class _Handler(logging.Handler):
    """Hands records of ``logging`` to loguru, under their own names."""

    def emit(self, record: logging.LogRecord) -> None:
        number = record.levelno
        error = record.exc_info
        if record.name.startswith(_CHATTY):
            if number == logging.INFO:
                number = logging.DEBUG
            elif record.msg == _SCANNER:
                number, error = logging.DEBUG, None
        names = [name for name, at in LEVELS.items() if at == number]

        def origin(ours: Record) -> None:
            ours["name"] = record.name
            ours["function"] = record.funcName
            ours["line"] = record.lineno

        logger.patch(origin).opt(exception=error).log(names[0] if names else number, _text(record))


def _text(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError):  # arguments that do not fit: a defect of whoever logs
        return str(record.msg)


def _format_text(record: Record) -> str:
    """Return the template; what varies goes in by reference, so that nothing in it is markup."""
    extra = record["extra"]
    fields = "".join(f" {key}={_value(value)}" for key, value in extra.items())
    extra["_line"] = _CONTROL.sub(_escape, record["message"]) + fields
    return (
        "<dim>{time:YYYY-MM-DD HH:mm:ss.SSS}</dim> <level>{level: <8}</level> "
        "<dim>{name}</dim>  {extra[_line]}\n{exception}"
    )


def _format_json(record: Record) -> str:
    extra = record["extra"]
    line: dict[str, Any] = {
        "time": record["time"].isoformat(timespec="milliseconds"),
        "level": record["level"].name,
        "logger": record["name"],
        "message": record["message"],
    }
    # A field cannot take the place of what every line has.
    line.update((key, value) for key, value in extra.items() if key not in line)
    if (error := record["exception"]) is not None:
        line["exception"] = "".join(traceback.format_exception(*error))
    extra["_line"] = json_codec.dumps(line, ensure_ascii=False, default=str)
    return "{extra[_line]}\n"


def _value(value: object) -> str:
    text = str(value)
    return text if _PLAIN.fullmatch(text) else json_codec.dumps(text, ensure_ascii=False)


def _escape(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode()
