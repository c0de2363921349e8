"""Configures logging: records of the standard library's ``logging``, one line each.

Code logs with ``logging.getLogger(__name__)``, a constant message and values in ``extra={…}``.
Other libraries may log a user's words or a URL with a key at INFO and below, so of theirs only
warnings and errors are shown.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

from loguru import logger

from vixio.core.log_fields import log_fields
from vixio.telemetry.logging.fields import fields_of
from vixio.telemetry.logging.formats import format_json, format_text
from vixio.telemetry.logging.recent import RECENT
from vixio.telemetry.logging.writer import LogWriter

if TYPE_CHECKING:
    from loguru import Record

_writer = LogWriter()


def configure_logging(
    level: str = "INFO",
    json: bool = False,
    stream: TextIO | None = None,
    fields: Mapping[str, object] | None = None,
) -> None:
    """Write records of ``level`` and above to ``stream`` (default: standard error).

    ``json``: one object a line. ``fields``: shown with every record.

    Idempotent: the last call replaces earlier ones. A thread writes, so a slow terminal or a full
    pipe delays no device; :func:`flush_logs` waits for it.
    """
    number = LEVELS[level.upper()]
    _writer.flush()
    stream = stream or sys.stderr
    _writer.open(stream)
    logger.remove()
    logger.configure(extra=dict(fields or {}))
    logger.add(
        _writer.write,
        level=number,
        format=format_json if json else format_text,
        colorize=not json and stream.isatty(),
        backtrace=False,
        diagnose=False,  # it would print the values of variables: words, tokens
    )
    root = logging.getLogger()
    root.handlers = [InterceptHandler(), RECENT]
    root.setLevel(max(number, logging.WARNING))
    logging.getLogger("vixio").setLevel(number)
    for name in CHATTY:
        logging.getLogger(name).setLevel(
            logging.INFO if number <= logging.DEBUG else logging.WARNING
        )


def flush_logs(timeout: float = 2.0) -> None:
    """Wait, for at most ``timeout`` seconds, until everything logged so far is written."""
    _writer.flush(timeout)


LEVELS = {"TRACE": 5, "DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50}
"""Level names and the numbers that ``logging`` and loguru share for them."""

CHATTY = ("websockets", "uvicorn", "starlette")
"""Loggers of server libraries whose INFO (each connection, each start) is lowered to DEBUG.

Their own DEBUG is never shown: it contains headers with tokens, and frames with users' words.
"""

_NAMES = {number: name for name, number in LEVELS.items()}


class InterceptHandler(logging.Handler):
    """Passes records of ``logging`` to loguru with their logger's name, their fields and the
    task's."""

    def emit(self, record: logging.LogRecord) -> None:
        number = record.levelno
        if number == logging.INFO and record.name.startswith(CHATTY):
            number = logging.DEBUG

        def complete(target: Record) -> None:
            target["name"] = record.name
            target["function"] = record.funcName
            target["line"] = record.lineno
            target["extra"].update({**log_fields(), **fields_of(record)})

        output = logger.patch(complete).opt(exception=record.exc_info)
        output.log(_NAMES.get(number, number), _text(record))


def _text(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError):  # the arguments do not fit the message: a bug of the caller
        return str(record.msg)
