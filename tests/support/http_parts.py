"""Just enough of HTTP/1.1 for stand-in servers that misbehave on purpose."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from email import message_from_bytes, message_from_string
from email.message import Message


@dataclass
class Request:
    """``fields``: of a multipart body, each by its name; files as (name, type, content)."""

    path: str
    headers: dict[str, str]
    body: bytes
    fields: dict[str, list[str]] = field(default_factory=dict)
    files: dict[str, tuple[str, str, bytes]] = field(default_factory=dict)


async def read_request(reader: asyncio.StreamReader) -> Request:
    """Read one request; raises IncompleteReadError where the connection ends instead."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {
        name.lower(): value
        for name, value in (line.split(": ", 1) for line in head[1:] if ": " in line)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    request = Request(head[0].split(" ")[1], headers, body)
    kind = headers.get("content-type", "")
    if kind.startswith("multipart/form-data"):
        boundary = message_from_string(f"Content-Type: {kind}\r\n\r\n").get_boundary()
        assert boundary, kind
        # By hand: the parser of email looks at each line of what is sound.
        first, *parts, last = (b"\r\n" + body).split(f"\r\n--{boundary}".encode())
        assert (first, last.strip()) == (b"", b"--"), "a body of several parts, whole"
        for part in parts:
            about, _, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
            _keep(message_from_bytes(about + b"\r\n\r\n"), content, request)
    return request


def _keep(part: Message, content: bytes, request: Request) -> None:
    name = str(part.get_param("name", "", "content-disposition"))
    assert part.get("content-transfer-encoding", "binary").lower() in {"binary", "8bit", "7bit"}
    if (file := part.get_filename()) is not None:
        request.files[name] = (file, part.get_content_type(), content)
    else:
        request.fields.setdefault(name, []).append(content.decode())


def head_of(status: int, headers: dict[str, str]) -> bytes:
    """Return the head of a response whose body comes in chunks."""
    lines = [f"HTTP/1.1 {status} X", "transfer-encoding: chunked"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def chunk_of(data: bytes) -> bytes:
    """Return ``data`` as a chunk of such a body; without data, its end."""
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"
