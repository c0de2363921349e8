"""One end of the socket pair between the coordinator and a worker process."""

from __future__ import annotations

import asyncio
import itertools
import socket
from typing import Any, Final

from vixio.cluster.workers.messages import MAX_PAYLOAD, Kind, Message
from vixio.core.framing import FrameReader, pack

MAX_WAITING: Final = 32 * 1024 * 1024
"""Bytes that may wait for the other end; above, it is taken for dead."""


BUSY: Final = 1024 * 1024
"""Bytes that wait for the other end; above, what may be lost is not sent."""


class Channel:
    """Sends and receives messages; joins answers with requests."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._frames = FrameReader(reader, Kind, MAX_PAYLOAD)
        self._writer = writer
        self._numbers = itertools.count(1)
        self._requests: dict[int, asyncio.Future[Any]] = {}

    @property
    def closed(self) -> bool:
        """Whether the other end is gone."""
        return self._writer.is_closing() or self._frames.at_end

    @property
    def busy(self) -> bool:
        """Whether so much waits that what may be lost should be."""
        return self._writer.transport.get_write_buffer_size() > BUSY

    def next_number(self) -> int:
        """Return a number for a request."""
        return next(self._numbers)

    @classmethod
    async def open(cls, end: socket.socket) -> Channel:
        """Return the channel over one end of a socket pair, which it owns from now on."""
        end.setblocking(False)
        return cls(*await asyncio.open_connection(sock=end))

    def send(self, kind: Kind, number: int = 0, /, **body: Any) -> None:  # noqa: ANN401 - JSON values
        """Send a message; has no effect when the other end is gone, which the reader notices."""
        if self._writer.is_closing():
            return
        self._writer.write(pack(kind, number, body))
        if self._writer.transport.get_write_buffer_size() > MAX_WAITING:
            self._writer.transport.abort()

    async def request(self, kind: Kind, seconds: float, /, **body: Any) -> Any:  # noqa: ANN401 - JSON values
        """Send a request and return its answer; None: the other end is gone, or silent so long."""
        if self.closed:
            return None
        number = self.next_number()
        answer = self._requests[number] = asyncio.get_running_loop().create_future()
        try:
            self.send(kind, number, **body)
            async with asyncio.timeout(seconds):
                return await answer
        except TimeoutError:
            return None
        finally:
            del self._requests[number]

    def answer(self, number: int, result: Any) -> None:  # noqa: ANN401 - a JSON value
        """Answer a request of the other end."""
        self.send(Kind.ANSWER, number, result=result)

    def answered(self, number: int, result: Any) -> bool:  # noqa: ANN401 - a JSON value
        """Hand an answer to its request; False: that has been given up."""
        answer = self._requests.get(number)
        if answer is None or answer.done():
            return False
        answer.set_result(result)
        return True

    async def receive(self) -> Message | None:
        """Return the next message, None at the end; open requests get None then.

        Raises ValueError for a malformed message.
        """
        frame = await self._frames.read()
        if frame is None:
            self._give_up()
            return None
        return Message(frame.kind, frame.stream, frame.json())

    async def close(self) -> None:
        """Close this end. Idempotent, never raises."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:  # broken: it is closed all the same
            pass

    def _give_up(self) -> None:
        for answer in self._requests.values():
            if not answer.done():
                answer.set_result(None)
