"""A network between a device and the server that delays, loses and stalls: a relay on loopback."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Literal
from urllib.parse import urlsplit, urlunsplit

from vixio.core.tasks import cancel_and_wait

Direction = Literal["up", "down"]

AGAIN_S: Final = 0.25
"""For which TCP waits until it sends a lost packet again; what is behind it waits too."""
_SIZE: Final = 65_536


@dataclass(frozen=True, slots=True)
class Network:
    """What happens to what is sent, each way. Seconds; ``loss``: the share of lost packets."""

    delay: float = 0.0
    jitter: float = 0.0
    loss: float = 0.0


class Relay:
    """Passes on the connections of one device; an asynchronous context manager.

    Bytes arrive in order and none is lost, as over TCP: faults only make them late.
    """

    def __init__(self, target: str, network: Network = Network(), seed: int = 1) -> None:
        """``target``: the server's WebSocket URL."""
        self._target = urlsplit(target)
        self._network = network
        self._random = random.Random(seed)  # noqa: S311 - repeatable, no secret
        self._held: dict[Direction, float] = {"up": 0.0, "down": 0.0}
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """Where the device connects to."""
        if self._server is None:
            raise RuntimeError("the relay is not running")
        port = self._server.sockets[0].getsockname()[1]
        return urlunsplit(self._target._replace(netloc=f"127.0.0.1:{port}"))

    async def __aenter__(self) -> Relay:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server is not None:
            self._server.close()
        self.reset()
        for task in list(self._tasks):
            await cancel_and_wait(task)

    def stall(self, direction: Direction, seconds: float) -> None:
        """Pass nothing on for so long; then all of it at once."""
        self._held[direction] = asyncio.get_running_loop().time() + seconds

    def reset(self) -> None:
        """Break all connections off."""
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = self._target.hostname or "127.0.0.1", self._target.port or 80
        there_reader, there_writer = await asyncio.open_connection(host, port)
        self._writers |= {writer, there_writer}
        pumps = [
            asyncio.create_task(self._pump(reader, there_writer, "up")),
            asyncio.create_task(self._pump(there_reader, writer, "down")),
        ]
        self._tasks |= set(pumps)
        await asyncio.wait(pumps)
        self._tasks -= set(pumps)
        self._writers -= {writer, there_writer}

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, direction: Direction
    ) -> None:
        waiting: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        sender = asyncio.create_task(self._send(waiting, writer, direction))
        now: Callable[[], float] = asyncio.get_running_loop().time
        network, due = self._network, 0.0
        try:
            while data := await reader.read(_SIZE):
                late = network.delay + self._random.uniform(0, network.jitter)
                late += AGAIN_S if self._random.random() < network.loss else 0.0
                due = max(due, now() + late)
                waiting.put_nowait((due, data))
        except ConnectionError:
            pass
        finally:
            waiting.put_nowait((due, b""))
            await asyncio.wait([sender])

    async def _send(
        self,
        waiting: asyncio.Queue[tuple[float, bytes]],
        writer: asyncio.StreamWriter,
        direction: Direction,
    ) -> None:
        now = asyncio.get_running_loop().time
        while True:
            due, data = await waiting.get()
            await asyncio.sleep(max(0.0, due - now()))
            await asyncio.sleep(max(0.0, self._held[direction] - now()))
            if not data or writer.is_closing():
                writer.close()
                return
            writer.write(data)
