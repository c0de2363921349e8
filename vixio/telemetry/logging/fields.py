"""Which attributes of a ``logging`` record are fields that the caller passed in ``extra``."""

from __future__ import annotations

import logging
from typing import Any

from vixio.core.log_fields import PRIVATE

RESERVED = frozenset(
    {*vars(logging.LogRecord("", 0, "", 0, "", (), None)), "message", "asctime", "taskName"}
)
"""Attributes that ``logging`` sets itself. It raises ``KeyError`` for these names in ``extra``."""

_NO_FIELDS = RESERVED | {PRIVATE}


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields of ``extra={…}``, in the order in which they were passed."""
    return {key: value for key, value in vars(record).items() if key not in _NO_FIELDS}


def renamed(fields: dict[str, Any], taken: dict[str, Any]) -> dict[str, Any]:
    """Return ``fields`` with an underscore added to each name that ``taken`` already has."""
    found: dict[str, Any] = {}
    for key, value in fields.items():
        name = key
        while name in taken or name in found:
            name += "_"
        found[name] = value
    return found
