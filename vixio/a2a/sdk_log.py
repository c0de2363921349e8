"""The log of the A2A library: it quotes requests and prints tracebacks, so it is summed up."""

from __future__ import annotations

import logging
from typing import Final

from vixio.core.metrics import Counters

_log = logging.getLogger(__name__)

LOGGER: Final = "a2a.server", "a2a.compat", "a2a.utils"


class SdkLog(logging.Handler):
    """Counts what the library reports, and names the place of each error."""

    def __init__(self, counters: Counters) -> None:
        super().__init__(logging.WARNING)
        self._counters = counters

    def attach(self) -> None:
        """Take the library's records from now on."""
        for name in LOGGER:
            logger = logging.getLogger(name)
            logger.addHandler(self)
            logger.propagate = False

    def detach(self) -> None:
        """Leave the library's log as it was. Idempotent."""
        for name in LOGGER:
            logger = logging.getLogger(name)
            logger.removeHandler(self)
            logger.propagate = True

    def emit(self, record: logging.LogRecord) -> None:
        """Take one record."""
        if record.levelno < logging.ERROR:
            self._counters.add("a2a.library.warnings")
            return
        self._counters.add("a2a.library.errors")
        error = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else ""
        place = f"{record.module}:{record.lineno}"
        _log.warning("A2A library reported an error", extra={"place": place, "error": error})
