"""A stand-in for streaming servers: the answers of Icecast and SHOUTcast, with their faults.

Paths say what happens; each connection is noted in ``asked``.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import TracebackType
from typing import Final, Self

AUDIO: Final = Path(__file__).parent / "audio"
EVERY: Final = 4_000
"""Bytes of sound between metadata."""


def frames(rate: int, times: int) -> bytes:
    """Return MP3 frames of a chirp, again and again: of 24,000 Hz in mono or 44,100 in stereo."""
    name = "chirp-24k-mono.mp3" if rate == 24_000 else "chirp-44k-stereo.mp3"
    return (AUDIO / name).read_bytes() * times


def metadata(title: str) -> bytes:
    """Return a block of ICY metadata."""
    text = f"StreamTitle='{title}';StreamUrl='';".encode() if title else b""
    text += b"\0" * (-len(text) % 16)
    return bytes([len(text) // 16]) + text


def with_titles(data: bytes, titles: list[str]) -> bytes:
    """Return ``data`` with metadata behind each ``EVERY`` bytes."""
    mixed = b""
    for number, at in enumerate(range(0, len(data), EVERY)):
        piece = data[at : at + EVERY]
        mixed += piece
        if len(piece) == EVERY:
            mixed += metadata(titles[number] if number < len(titles) else "")
    return mixed


class RadioServer:
    """Listens on a free port of this machine."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.seconds = 3.0
        """Bytes are sent at their pace for so long; then the rest at once."""
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()

    def count(self, path: str) -> int:
        """Return how often a path was asked for."""
        return sum(each == path for each, _ in self.asked)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            path = head[0].split()[1]
            headers = {
                name.lower(): value.strip()
                for name, _, value in (line.partition(":") for line in head[1:] if line)
            }
            self.asked.append((path, headers))
            await self._answer(path, headers, writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _answer(  # noqa: C901, PLR0912, PLR0915 - a table of faults
        self, path: str, headers: dict[str, str], writer: asyncio.StreamWriter
    ) -> None:
        mp3 = b"HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\n\r\n"
        match path.strip("/").split("/"):
            case ["live"]:
                writer.write(
                    f"ICY 200 OK\r\nicy-metaint:{EVERY}\r\ncontent-type:audio/mpeg\r\n\r\n".encode()
                )
                data = with_titles(frames(24_000, 60), ["Nina - One", "", "", "", "Nina - Two"])
                for at in range(0, len(data), 2_000):
                    writer.write(data[at : at + 2_000])
                    await writer.drain()
                    await asyncio.sleep(0.05)
            case ["rates"]:
                writer.write(mp3 + frames(24_000, 6) + frames(44_100, 6))
            case ["chunked"]:
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                data = frames(24_000, 4)
                for at in range(0, len(data), 1_111):
                    piece = data[at : at + 1_111]
                    writer.write(f"{len(piece):x};x=1\r\n".encode() + piece + b"\r\n")
                writer.write(b"0\r\n\r\n")
            case ["stalls-once"] if self.count(path) == 1:
                writer.write(mp3 + frames(24_000, 3))
                await writer.drain()
                await asyncio.sleep(60)
            case ["stalls-once" | "plain"]:
                writer.write(mp3 + frames(24_000, 8))
            case ["stalls"]:
                writer.write(mp3)
                await writer.drain()
                await asyncio.sleep(60)
            case ["ends"]:
                writer.write(mp3 + frames(24_000, 2))
            case ["refuses"]:
                writer.write(b"HTTP/1.0 503 Busy\r\n\r\n")
            case ["gone"]:
                writer.write(b"HTTP/1.0 404 Not Found\r\n\r\n")
            case ["aac"]:
                writer.write(b"HTTP/1.0 200 OK\r\nContent-Type: audio/aacp\r\n\r\n" + bytes(5_000))
            case ["page"]:
                writer.write(
                    b"HTTP/1.0 200 OK\r\nContent-Type: audio/mpeg\r\n\r\n<html>" + b"x " * 9_000
                )
            case ["hops", number]:
                to = f"/hops/{int(number) - 1}" if int(number) > 1 else "/plain"
                writer.write(f"HTTP/1.1 302 Found\r\nLocation: {to}\r\n\r\n".encode())
            case ["inside"]:
                writer.write(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/x\r\n\r\n")
            case ["list.pls"]:
                text = f"[playlist]\nFile1={self.url}/plain\nTitle1=Plain\n"
                writer.write(
                    f"HTTP/1.0 200 OK\r\nContent-Type: audio/x-scpls\r\n\r\n{text}".encode()
                )
            case ["hls.m3u8"]:
                writer.write(b"HTTP/1.0 200 OK\r\n\r\n#EXTM3U\n#EXT-X-VERSION:3\nseg.ts\n")
            case ["episode"]:
                data = frames(24_000, 12)
                first = int(headers.get("range", "bytes=0-")[6:].rstrip("-"))
                status = "206 Partial Content" if first else "200 OK"
                rest = data[first:]
                writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(rest)}\r\n\r\n".encode())
                writer.write(rest[: len(rest) // 3] if self.count(path) < 3 else rest)
            case ["feed"]:
                items = "".join(
                    f"<item><title>Episode {n}</title>"
                    f"<enclosure url='{self.url}/episode?{n}' type='audio/mpeg'/></item>"
                    for n in (3, 2, 1)
                )
                writer.write(
                    f"HTTP/1.0 200 OK\r\n\r\n<rss><channel>{items}</channel></rss>".encode()
                )
