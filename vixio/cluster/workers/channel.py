"""Messages between the coordinator and a worker process: JSON arrays, one a line, on a socket pair.

====================================  ===========================================================
to the coordinator                            meaning
====================================  ===========================================================
``ready``, about                      the process accepts devices
``tell``, table, key, count           it has so many of ``key`` now
``act``, kind, key, number            something that a rate limit of all processes counts
``claim``, request, device            a device has come: answer with its memory
``leave``, device                     it has no session here any more
``remember``, device, text            its memory, for the process that it comes to next
``health``, request                   asks for everybody's health
``answer``, request, body             what the coordinator has asked for
====================================  ===========================================================

====================================  ===========================================================
to a worker                           meaning
====================================  ===========================================================
``plan``, plan                        the first message: what to be
``count``, table, key, count          so many of ``key`` the others have together
``act``, kind, key, number            done elsewhere
``release``, request, device          end its session, it is elsewhere; answer when it is over
``health``, request                   answer with the process's own health
``answer``, request, body             what the worker has asked for
====================================  ===========================================================
"""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any, Final

from vixio.core.handover import MAX_BYTES

Message = list[Any]

MAX_LINE: Final = 8 * MAX_BYTES
"""Bytes; the longest is a device's memory, escaped."""

MAX_WAITING: Final = 32 * 1024 * 1024
"""Bytes that may wait for the other end; it hangs when there are more."""


class Channel:
    """One end of the socket pair."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count(1)
        self._asked: dict[int, asyncio.Future[Any]] = {}

    def send(self, *message: Any) -> None:  # noqa: ANN401 - what JSON can carry
        """Send a message; nothing happens when the other end is gone, which its reader notices."""
        if self._writer.is_closing():
            return
        self._writer.write(json.dumps(message).encode() + b"\n")
        if self._writer.transport.get_write_buffer_size() > MAX_WAITING:
            self._writer.transport.abort()

    async def ask(self, what: str, *parts: Any, seconds: float) -> Any:  # noqa: ANN401 - as above
        """Send a request and return its answer; None when none comes, or not in time."""
        if self._writer.is_closing() or self._reader.at_eof():
            return None
        number = next(self._numbers)
        asked = self._asked[number] = asyncio.get_running_loop().create_future()
        try:
            self.send(what, number, *parts)
            async with asyncio.timeout(seconds):
                return await asked
        except TimeoutError:
            return None
        finally:
            del self._asked[number]

    def answered(self, number: int, body: Any) -> None:  # noqa: ANN401 - as above
        """Hand an answer to whoever has asked; a late one is dropped."""
        asked = self._asked.get(number)
        if asked is not None and not asked.done():
            asked.set_result(body)

    async def receive(self) -> Message | None:
        """Return the next message, None when the other end is gone: nobody answers any more then.

        Raises ValueError for what is no message.
        """
        try:
            line = await self._reader.readline()
        except ConnectionError:  # an end like any other
            line = b""
        if line:
            message: Message = json.loads(line)
            return message
        for asked in self._asked.values():
            if not asked.done():
                asked.set_result(None)
        return None

    async def close(self) -> None:
        """Close this end. Idempotent, never raises."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:  # broken: it is closed all the same
            pass
