"""The lines of the log at the start and at the end of a server."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from vixio.core.clock import now
from vixio.core.session.events import EventBus
from vixio.core.session.log import WordsLog

_log = logging.getLogger(__name__)


class ServerLog:
    """One server's."""

    def __init__(self) -> None:
        self._running = False

    def started(self, events: EventBus, *, words: bool) -> None:
        """The server begins; ``words``: have what is said written to the log, with a warning."""
        self._running = True
        if words:
            events.attach(WordsLog())
            _log.warning(
                "logging.words is true: this log contains what users and the assistant say; "
                "restrict who can read it"
            )

    @contextmanager
    def stopping(self, devices: int) -> Iterator[None]:
        """Log that the server stops, which closes the connections of ``devices``, and that it has.

        Nothing for a server that does not run.
        """
        if not self._running:
            yield
            return
        self._running = False
        began = now()
        _log.info("server stopping", extra={"devices": devices})
        try:
            yield
        finally:
            seconds = round(now() - began, 2)
            _log.info("server stopped", extra={"devices": devices, "seconds": seconds})
