"""Writes log lines in a thread, so that logging never waits for a terminal or a pipe."""

from __future__ import annotations

import atexit
import threading
from collections import deque
from typing import TextIO

MAX_WAITING = 10_000
"""Lines kept while the stream accepts none; about 2 MB. Newer ones are dropped and counted."""


class LogWriter:
    """A bounded queue of lines and the thread that writes them."""

    def __init__(self) -> None:
        self._stream: TextIO | None = None
        self._lines: deque[str] = deque()
        self._dropped = 0
        self._busy = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def open(self, stream: TextIO) -> None:
        """Write to ``stream`` from now on. The thread starts with the first line."""
        with self._changed:
            self._stream = stream

    def write(self, line: str) -> None:
        """Queue one line, its line end included. Returns at once."""
        with self._changed:
            if len(self._lines) >= MAX_WAITING:
                self._dropped += 1
                return
            self._lines.append(line)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="vixio-log", daemon=True)
                self._thread.start()
                atexit.register(self.flush)
            self._changed.notify_all()

    def flush(self, timeout: float = 2.0) -> None:
        """Wait, for at most ``timeout`` seconds, until all lines are written."""
        with self._changed:
            self._changed.wait_for(lambda: not (self._lines or self._busy), timeout)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: bool(self._lines))
                lines = list(self._lines)
                self._lines.clear()
                if self._dropped:
                    lines.append(f"({self._dropped} log lines dropped: the stream was too slow)\n")
                    self._dropped = 0
                stream = self._stream
                self._busy = True
            if stream is None:
                continue
            try:
                stream.write("".join(lines))
                stream.flush()
            except (OSError, ValueError):
                # The stream is closed or its reader is gone: nowhere to report that to.
                continue
