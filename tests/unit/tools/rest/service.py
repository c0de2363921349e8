"""A small HTTP service with good and with unusable answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

Handler = Callable[["Seen", asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Seen:
    """One request as it came over the wire."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> list[tuple[str, str]]:
        return parse_qsl(urlsplit(self.target).query, keep_blank_values=True)


@dataclass
class Service:
    """Answers by path; what it saw is kept."""

    handlers: dict[str, Handler] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    connections: int = 0
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def on(self, path: str, handler: Handler) -> None:
        self.handlers[path] = handler

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, target, _ = head[0].split(" ")
                headers = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
                headers = {name.lower(): value for name, value in headers.items()}
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                seen = Seen(method, target, headers, body)
                self.seen.append(seen)
                handler = self.handlers.get(seen.path, echo)
                await handler(seen, writer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            self.hung_up.set()
        finally:
            writer.close()


def respond(
    writer: asyncio.StreamWriter,
    body: bytes | str,
    *,
    status: int = 200,
    kind: str = "application/json",
    **headers: str,
) -> None:
    data = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(data)}"]
    lines += [f"content-type: {kind}"] if kind else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + data)


async def echo(seen: Seen, writer: asyncio.StreamWriter) -> None:
    body = json.loads(seen.body) if seen.body else None
    respond(writer, json.dumps({"path": seen.path, "query": seen.query, "body": body}))


def saying(
    body: bytes | str, *, status: int = 200, kind: str = "application/json", **headers: str
) -> Handler:
    async def handler(_: Seen, writer: asyncio.StreamWriter) -> None:
        respond(writer, body, status=status, kind=kind, **headers)

    return handler


@asynccontextmanager
async def running() -> AsyncIterator[Service]:
    service = Service()
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await service.serve(reader, writer)
        except asyncio.CancelledError:
            pass  # the test is over; asyncio's server would log a cancelled handler
        finally:
            tasks.discard(task)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    service.port = server.sockets[0].getsockname()[1]
    try:
        yield service
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()
