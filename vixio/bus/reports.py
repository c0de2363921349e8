"""Errors that a broker reports over and over, logged once each."""

from __future__ import annotations

import logging
from typing import Final

_MOST: Final = 20
"""Different reports of one connection; the rest is dropped."""

_log = logging.getLogger(__name__)


class BrokerReports:
    """Logs each report of a broker once."""

    def __init__(self, broker: str) -> None:
        """``broker``: its URL without secrets."""
        self._broker = broker
        self._known: set[str] = set()

    def add(self, reason: str) -> None:
        """Log ``reason`` unless it was logged before."""
        line = " ".join(reason.split())[:300]
        if line in self._known or len(self._known) >= _MOST:
            return
        self._known.add(line)
        _log.warning("broker reports an error", extra={"broker": self._broker, "reason": line})
