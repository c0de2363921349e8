"""Stand-in of the addresses that a profile's context names: a thermometer, a notice, and faults."""

from __future__ import annotations

import asyncio
import json
from types import TracebackType
from typing import Self

from tests.support.http_parts import read_request


class MomentServer:
    """Serves on a free loopback port while its context is open.

    ``/state`` answers JSON, ``/notice`` text, ``/held`` only after :attr:`go`, ``/broken`` with
    500, ``/empty`` with nothing, ``/away`` redirects to another host.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.temperature = 21.5
        self.go = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    def url(self, path: str) -> str:
        """The address of a path."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}{path}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while True:
                request = await read_request(reader)
                path = request.path.partition("?")[0]
                self.asked.append(path)
                self.headers.append(request.headers)
                if path == "/held":
                    await self.go.wait()
                writer.write(self._answer(path))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    def _answer(self, path: str) -> bytes:
        status, kind, body = 200, "text/plain; charset=utf-8", "Bin day.\r\n\tPut it out\x1b[31m!"
        if path == "/state":
            kind = "application/json"
            body = json.dumps({"state": {"temperature": self.temperature}})
        elif path == "/broken":
            status = 500
        elif path == "/empty":
            body = ""
        elif path == "/held":
            body = "late"
        data = body.encode()
        more = ""
        if path == "/away":
            status, more = 302, "location: http://elsewhere.example.org/\r\n"
        head = (
            f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\n{more}content-length: {len(data)}\r\n"
        )
        return head.encode() + b"\r\n" + data
