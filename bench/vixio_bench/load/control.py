"""How the bench talks with the processes it started: requests and answers over a loopback socket.

Each process calls in with the token that it was given, says what it is, and answers requests until
the line closes; then it ends, so nothing is left behind when the bench itself dies.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from vixio.core.errors import VixioError
from vixio.core.framing import FrameReader, pack

Json = dict[str, Any]
Handler = Callable[[Json], Awaitable[Json]]

_MAX_BYTES: Final = 256 * 1024 * 1024
"""An answer holds every turn of a run."""


class BenchError(VixioError):
    """The measurement itself failed; its figures would mean nothing."""


@dataclass(frozen=True, slots=True)
class Line:
    """Where to call in, and as what. Travels to the process as its argument."""

    port: int
    token: str
    role: str
    index: int = 0


class Kind(IntEnum):
    """What a frame is."""

    MESSAGE = 1
    """JSON."""


class Messages:
    """Reads the messages of a line."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._frames = FrameReader(reader, Kind, _MAX_BYTES)

    async def receive(self) -> Json | None:
        """Return the next message, None at the end of the line."""
        frame = await self._frames.read()
        if frame is None:
            return None
        message: Json = frame.json()
        return message


def send(writer: asyncio.StreamWriter, message: Json) -> None:
    """Queue a message. Raises TypeError if it is not JSON."""
    writer.write(pack(Kind.MESSAGE, 0, json.dumps(message).encode()))


class Peer:
    """A process that has called in."""

    def __init__(self, hello: Json, writer: asyncio.StreamWriter) -> None:
        self.role: str = hello["role"]
        self.index: int = hello["index"]
        self.pid: int = hello["pid"]
        self.said: Json = hello
        self._writer = writer
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._last = 0
        self.gone = False

    async def ask(self, do: str, timeout: float = 60.0, **arguments: Any) -> Json:  # noqa: ANN401 - JSON values
        """Have the process do something; return its answer. Raises BenchError."""
        if self.gone:
            raise BenchError(f"the {self.role} process has ended")
        self._last += 1
        number = self._last
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        send(self._writer, {"id": number, "do": do, "with": arguments})
        try:
            async with asyncio.timeout(timeout):
                return await answer
        except TimeoutError:
            raise BenchError(f"the {self.role} did not {do} within {timeout:g} s") from None
        finally:
            self._waiting.pop(number, None)

    def answered(self, message: Json) -> None:
        """Take an answer."""
        waiting = self._waiting.get(message["id"])
        if waiting is None or waiting.done():
            return
        if "error" in message:
            waiting.set_exception(BenchError(f"{self.role}: {message['error']}"))
        else:
            waiting.set_result(message["result"])

    def lost(self) -> None:
        """The process ended: fail the requests that wait for it."""
        self.gone = True
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(BenchError(f"the {self.role} process ended"))

    def hang_up(self) -> None:
        """Close the line, which ends the process."""
        self._writer.close()


class Hub:
    """The bench's end of all lines."""

    def __init__(self) -> None:
        self._token = secrets.token_hex(16)
        self._server: asyncio.Server | None = None
        self._changed = asyncio.Condition()
        self._peers: list[Peer] = []

    async def __aenter__(self) -> Hub:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for peer in self._peers:
            peer.hang_up()

    def line(self, role: str, index: int = 0) -> Line:
        """Return what a new process needs to call in."""
        if self._server is None:
            raise RuntimeError("the hub is not open")
        return Line(self._server.sockets[0].getsockname()[1], self._token, role, index)

    async def wait(self, role: str, index: int, timeout: float = 60.0) -> Peer:
        """Wait until the process of that role and index has called in. Raises BenchError."""

        def found() -> Peer | None:
            for peer in reversed(self._peers):
                if (peer.role, peer.index) == (role, index):
                    return peer
            return None

        try:
            async with asyncio.timeout(timeout), self._changed:
                await self._changed.wait_for(lambda: found() is not None)
        except TimeoutError:
            raise BenchError(f"the {role} process did not start within {timeout:g} s") from None
        peer = found()
        if peer is None:
            raise BenchError(f"the {role} process ended at once")
        return peer

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        messages = Messages(reader)
        hello = await messages.receive()
        if hello is None or not secrets.compare_digest(str(hello.get("token")), self._token):
            writer.close()
            return
        peer = Peer(hello, writer)
        async with self._changed:
            self._peers.append(peer)
            self._changed.notify_all()
        while (message := await messages.receive()) is not None:
            peer.answered(message)
        peer.lost()
        self._peers.remove(peer)
        writer.close()


async def attend(line: Line, handlers: Mapping[str, Handler], said: Json) -> None:
    """Connect and serve requests concurrently until the connection closes.

    ``said`` goes with the first message.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", line.port)
    about = {"token": line.token, "role": line.role, "index": line.index, "pid": os.getpid()}
    send(writer, {**said, **about})

    async def answer(message: Json) -> None:
        number = message["id"]
        try:
            send(writer, {"id": number, "result": await handlers[message["do"]](message["with"])})
        except Exception as error:  # noqa: BLE001 - sent to the bench, which decides
            send(writer, {"id": number, "error": f"{type(error).__name__}: {error}"})

    messages = Messages(reader)
    running: set[asyncio.Task[None]] = set()
    while (message := await messages.receive()) is not None:
        task = asyncio.create_task(answer(message))
        running.add(task)
        task.add_done_callback(running.discard)
    for task in running:
        task.cancel()
    writer.close()
