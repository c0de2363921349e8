"""What a server's process writes to standard error: into the log at DEBUG, within bounds."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TextIO

from loguru import logger

MAX_LINE = 500
"""Characters of a line; the rest is dropped."""

LINES = 100
PER_SECONDS = 10.0
"""More lines in that time are counted and dropped: a child must not fill the log."""


class StderrLog(asyncio.Protocol):
    """Cuts the bytes into lines and logs them. ``last`` is the newest line that had words."""

    def __init__(self, server: str) -> None:
        self.last = ""
        self._server = server
        self._buffer = b""
        self._began = time.monotonic()
        self._lines = 0

    def data_received(self, data: bytes) -> None:
        """Log the lines that are whole; of one that is too long, its beginning."""
        *lines, rest = (self._buffer + data).split(b"\n")
        for line in lines:
            self._log(line)
        self._buffer = rest[: MAX_LINE * 4]

    def eof_received(self) -> None:
        """Log what stands after the last line break."""
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
                logger.bind(server=self._server, lines=self._lines - LINES).debug(
                    "MCP server's stderr dropped"
                )
            self._began, self._lines = now, 0
        self._lines += 1
        if self._lines <= LINES:
            logger.bind(server=self._server, text=text).debug("MCP server's stderr")


@asynccontextmanager
async def stderr_log(log: StderrLog) -> AsyncIterator[TextIO]:
    """Yield the file for a child's standard error, to be closed here once the child has it."""
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
