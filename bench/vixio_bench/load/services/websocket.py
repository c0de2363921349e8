"""The part of a WebSocket server that the stand-ins share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Sequence
from typing import ClassVar

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol


class WebSocketService(ABC):
    """Listens on a free port of this machine. ``answered_ms``: the time that each answer took."""

    path: ClassVar[str] = ""
    """Of the address that :meth:`start` returns."""
    subprotocols: ClassVar[Sequence[Subprotocol] | None] = None

    def __init__(self) -> None:
        self._server: Server | None = None
        self.answered_ms = array("f")

    async def start(self) -> str:
        """Listen; return the address."""
        self._server = await serve(
            self._serve,
            "127.0.0.1",
            0,
            subprotocols=self.subprotocols,
            compression=None,  # audio does not get smaller
            ping_interval=None,
            close_timeout=1,
        )
        port: int = next(iter(self._server.sockets)).getsockname()[1]
        return f"ws://127.0.0.1:{port}{self.path}"

    async def stop(self) -> None:
        """Close the connections and listen no more."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    @abstractmethod
    async def converse(self, socket: ServerConnection) -> None:
        """Serve one connection; it is closed when this returns."""

    async def _serve(self, socket: ServerConnection) -> None:
        try:
            await self.converse(socket)
        except ConnectionClosed:
            pass  # by the client, as it does when its turn is interrupted
