"""Logs what a server's process writes to standard error: at DEBUG, within bounds."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TextIO

_log = logging.getLogger(__name__)

MAX_LINE = 500
"""Characters of a line; the rest is dropped."""

LINES = 100
PER_SECONDS = 10.0
"""Further lines within that time are dropped and counted."""


class StderrLog(asyncio.Protocol):
    """Splits the bytes into lines and logs them. ``last``: the newest line that is not empty."""

    def __init__(self, server: str) -> None:
        self.last = ""
        self._server = server
        self._buffer = b""
        self._began = time.monotonic()
        self._lines = 0

    def data_received(self, data: bytes) -> None:
        """Log complete lines; of a line that is too long, its beginning."""
        *lines, rest = (self._buffer + data).split(b"\n")
        for line in lines:
            self._log(line)
        self._buffer = rest[: MAX_LINE * 4]

    def eof_received(self) -> None:
        """Log what follows the last line break."""
        if self._buffer:
            self._log(self._buffer)
            self._buffer = b""

    def _log(self, line: bytes) -> None:
        text = line[: MAX_LINE * 4].decode("utf-8", "replace").rstrip()[:MAX_LINE]
        if not text:
            return
        self.last = text
        now = time.monotonic()
        if now - self._began > PER_SECONDS:
            if self._lines > LINES:
                dropped = {"server": self._server, "lines": self._lines - LINES}
                _log.debug("MCP server's stderr dropped", extra=dropped)
            self._began, self._lines = now, 0
        self._lines += 1
        if self._lines <= LINES:
            _log.debug("MCP server's stderr", extra={"server": self._server, "text": text})


@asynccontextmanager
async def stderr_log(log: StderrLog) -> AsyncIterator[TextIO]:
    """Yield a file for a child's standard error; close it once the child has inherited it."""
    reading, writing = os.pipe()
    write_file = os.fdopen(writing, "w")
    try:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: log, os.fdopen(reading, "rb")
        )
    except BaseException:
        write_file.close()
        raise
    try:
        yield write_file
    finally:
        write_file.close()
        transport.close()
