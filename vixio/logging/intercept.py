"""The bridge from the standard library's ``logging`` to loguru."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from loguru import logger

from vixio.core.log_fields import log_fields
from vixio.logging.fields import fields_of

if TYPE_CHECKING:
    from loguru import Record

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
