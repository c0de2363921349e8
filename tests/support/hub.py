"""A small HTTP server that speaks as the hubs of models do, and misbehaves as they do.

Faults of an address are used up one request after another; then it answers as it should: ranges,
ETags, If-Range, redirects.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import re
import ssl
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit


@dataclass
class Request:
    """What a client asked for. ``path``: decoded, without the query. Names are in lower case."""

    path: str
    query: str
    headers: dict[str, str]


@dataclass
class Content:
    """What is at an address: data, or a redirect."""

    data: bytes = b""
    etag: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    location: str = ""


Fault = Callable[["Answer"], Awaitable[None]]


@dataclass
class Answer:
    """One exchange. A fault writes what it likes."""

    request: Request
    content: Content
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(
        self,
        status: int,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        length: int | None = None,
        close: bool = False,
    ) -> None:
        """Send an answer. ``length``: of the header; -1: none. ``close``: close behind it."""
        lines = [f"HTTP/1.1 {status} x", *(f"{name}: {value}" for name, value in headers.items())]
        if length != -1:
            lines.append(f"Content-Length: {len(body) if length is None else length}")
        if close:
            lines.append("Connection: close")
        self.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await self.writer.drain()
        if close:
            self.writer.close()

    async def serve(self, *, ranges: bool = True) -> None:
        """Answer as a good server does."""
        content = self.content
        if content.location:
            await self.send(302, {"Location": content.location, **content.headers})
            return
        headers = dict(content.headers)
        if content.etag:
            headers["ETag"] = content.etag
        wanted = re.fullmatch(r"bytes=(\d+)-", self.request.headers.get("range", ""))
        same = self.request.headers.get("if-range", content.etag) == content.etag
        if wanted is None or not same or not ranges:
            await self.send(200, headers, content.data)
            return
        start, size = int(wanted[1]), len(content.data)
        if start >= size:
            await self.send(416, {**headers, "Content-Range": f"bytes */{size}"})
            return
        headers["Content-Range"] = f"bytes {start}-{size - 1}/{size}"
        await self.send(206, headers, content.data[start:])


class HubServer:
    """The server. Start it by :func:`hub_server`."""

    def __init__(self) -> None:
        self.base = ""
        self.contents: dict[str, Content] = {}
        self.faults: dict[str, deque[Fault]] = defaultdict(deque)
        self.requests: list[Request] = []
        self.reached = asyncio.Event()
        """Set by :func:`stalled`: a client is waiting."""
        self._open: set[asyncio.StreamWriter] = set()

    def put(self, path: str, data: bytes, etag: str = "", **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.contents[path] = Content(data, etag, named)

    def put_json(self, path: str, value: object, **headers: str) -> None:
        self.put(path, json.dumps(value).encode(), Content_Type="application/json", **headers)

    def redirect(self, path: str, location: str, **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.contents[path] = Content(location=location, headers=named)

    def fail(self, path: str, *faults: Fault) -> None:
        self.faults[path].extend(faults)

    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            while not writer.is_closing():
                request = await _read(reader)
                if request is None:
                    return
                self.requests.append(request)
                content = self.contents.get(request.path)
                answer = Answer(request, content or Content(), reader, writer)
                waiting = self.faults[request.path]
                if waiting:
                    await waiting.popleft()(answer)
                elif content is None:
                    await answer.send(404, {}, b"nothing here")
                else:
                    await answer.serve()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client left
        finally:
            self._open.discard(writer)
            writer.close()

    def close(self) -> None:
        for writer in tuple(self._open):
            writer.close()


async def _read(reader: asyncio.StreamReader) -> Request | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    _, target, _ = first.split(" ")
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines if line)
    }
    place = urlsplit(target)
    return Request(unquote(place.path), place.query, headers)


@asynccontextmanager
async def hub_server(tls: ssl.SSLContext | None = None) -> AsyncIterator[HubServer]:
    """Run a server on a free port of the loopback interface."""
    hub = HubServer()
    server = await asyncio.start_server(hub.handle, "127.0.0.1", 0, limit=2**16, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    hub.base = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    try:
        yield hub
    finally:
        server.close()
        hub.close()
        await server.wait_closed()


# ── faults ───────────────────────────────────────────────────────────────────────────────────────


def status(code: int, body: bytes = b"no", **headers: str) -> Fault:
    """Answer with a status."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda answer: answer.send(code, named, body)


def cut(after: int) -> Fault:
    """Announce everything, send ``after`` bytes, and close."""

    async def fault(answer: Answer) -> None:
        content = answer.content
        await answer.send(
            200,
            {"ETag": content.etag} if content.etag else {},
            content.data[:after],
            length=len(content.data),
            close=True,
        )

    return fault


def short(after: int) -> Fault:
    """Send ``after`` bytes without announcing a length, and close."""
    return lambda answer: answer.send(200, {}, answer.content.data[:after], length=-1, close=True)


def too_long(more: int) -> Fault:
    """Send more than the file has, without announcing a length."""
    return lambda answer: answer.send(
        200, {}, answer.content.data + b"x" * more, length=-1, close=True
    )


def stalled(hub: HubServer, after: int) -> Fault:
    """Send ``after`` bytes, then nothing until the client leaves."""

    async def fault(answer: Answer) -> None:
        content = answer.content
        headers = {"ETag": content.etag} if content.etag else {}
        await answer.send(200, headers, content.data[:after], length=len(content.data))
        hub.reached.set()
        await answer.reader.read()

    return fault


def dripping(gap: float) -> Fault:
    """Send a byte every ``gap`` seconds, until the client leaves."""

    async def fault(answer: Answer) -> None:
        content = answer.content
        await answer.send(200, {}, length=len(content.data))
        for byte in content.data:
            answer.writer.write(bytes([byte]))
            await answer.writer.drain()
            await asyncio.sleep(gap)

    return fault


async def whole(answer: Answer) -> None:
    """Ignore the range: 200 from the start."""
    await answer.serve(ranges=False)


async def another(answer: Answer) -> None:
    """Send other data of the same length."""
    data = bytes(255 - byte for byte in answer.content.data)
    await answer.send(200, {}, data)


async def web_page(answer: Answer) -> None:
    """Send the login page of a network, with 200."""
    headers = {"Content-Type": "text/html; charset=utf-8"}
    await answer.send(200, headers, b"<html><body>Please log in</body></html>")


async def zipped(answer: Answer) -> None:
    """Compress, whatever was asked."""
    headers = {"Content-Encoding": "gzip", **answer.content.headers}
    await answer.send(200, headers, gzip.compress(answer.content.data))


# ── hubs ─────────────────────────────────────────────────────────────────────────────────────────


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def git_sha1(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def hugging_face(
    hub: HubServer,
    repo: str,
    files: Mapping[str, bytes],
    *,
    revision: str = "main",
    large: int = 1000,
    cdn: HubServer | None = None,
) -> None:
    """Put a repository. Files of ``large`` bytes and more are LFS; ``cdn``: where they lie."""
    folders: dict[str, list[dict[str, object]]] = defaultdict(list)
    for path, data in files.items():
        entry: dict[str, object] = {"type": "file", "path": path, "size": len(data)}
        place = f"/{repo}/resolve/{revision}/{path}"
        if len(data) >= large:
            entry |= {"oid": git_sha1(b"pointer"), "lfs": {"oid": sha256(data), "size": len(data)}}
            if cdn is not None:
                cdn.put(f"/cdn/{sha256(data)}", data, etag=f'"{sha256(data)[:16]}"')
                hub.redirect(place, f"{cdn.base}/cdn/{sha256(data)}", X_Linked_Size=str(len(data)))
        else:
            entry["oid"] = git_sha1(data)
        if not (cdn is not None and len(data) >= large):
            hub.put(place, data, etag=f'"{sha256(data)[:16]}"')
        folder = path.rpartition("/")[0]
        folders[folder].append(entry)
    for folder, entries in folders.items():
        api = f"/api/models/{repo}/tree/{revision}"
        hub.put_json(f"{api}/{folder}" if folder else api, entries)


def modelscope(
    hub: HubServer, repo: str, files: Mapping[str, bytes], revision: str = "master"
) -> None:
    entries = [
        {"Name": path, "Path": path, "Type": "blob", "Size": len(data), "Sha256": sha256(data)}
        for path, data in files.items()
    ]
    entries.append({"Name": "folder", "Path": "folder", "Type": "tree", "Size": 0, "Sha256": ""})
    hub.put_json(
        f"/api/v1/models/{repo}/repo/files",
        {"Code": 200, "Data": {"Files": entries}, "Success": True},
    )
    for path, data in files.items():
        hub.put(f"/models/{repo}/resolve/{revision}/{path}", data, etag=f'"{sha256(data)[:16]}"')


def github(
    hub: HubServer, repo: str, tag: str, assets: Mapping[str, bytes], *, digests: bool = True
) -> None:
    hub.put_json(f"/repos/{repo}/releases/tags/{tag}", {"id": 7, "tag_name": tag})
    entries = [
        {
            "name": name,
            "size": len(data),
            "digest": f"sha256:{sha256(data)}" if digests else None,
        }
        for name, data in assets.items()
    ]
    hub.put_json(f"/repos/{repo}/releases/7/assets", entries)
    for name, data in assets.items():
        hub.put(f"/{repo}/releases/download/{tag}/{name}", data, etag=f'"{sha256(data)[:16]}"')
