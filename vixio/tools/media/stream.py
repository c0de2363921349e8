"""Audio from an address: opened, redirected, read on where it broke off, and given up in time.

Everything is bounded: each wait, the redirects, what lies between the socket and the decoder. An
address that the operator did not give leads to the public internet only.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from concurrent.futures import Executor
from contextlib import suppress
from typing import Final
from urllib.parse import urljoin, urlsplit

from vixio.core.clock import now
from vixio.core.errors import SoundFailed, ToolError
from vixio.core.streams import closing
from vixio.tools.media.decoding import Pcm, StreamDecoder
from vixio.tools.media.library import entries
from vixio.tools.media.wire import MAX_HEAD_BYTES, Chunks, Head, Icy
from vixio.tools.rest.network import addresses_of, is_public

CONNECT_S: Final = 5.0
MAX_HOPS: Final = 5
"""Redirects and playlists on the way to a stream."""

ATTEMPTS: Final = 4
"""Connections in a row without a byte of sound."""

WAITS_S: Final = (0.2, 1.0, 3.0)
"""Before the second, third and fourth of them."""

BUFFER_BYTES: Final = 65_536
"""What the socket's reader keeps: four seconds at 128 kbit/s. Then the server waits."""

BATCH_BYTES: Final = 4_096
"""Decoded at once, where it comes slowly: a hop to a thread costs more than a few frames."""

_MAX_PLAYLIST: Final = 65_536
_LISTS: Final = ("mpegurl", "scpls", "pls+xml")
_NOT_PLAYED: Final = ("aac", "mp4", "text/html", "video/", "application/json")
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


class Stream:
    """One address while it is played. ``titles``: those that came since they were taken last."""

    def __init__(
        self,
        address: str,
        *,
        live: bool,
        trusted: bool,
        private: bool,
        stall: float,
        start: int = 0,
    ) -> None:
        """``live``: it goes on for ever, and is opened anew at its present. ``trusted``: the
        operator gave the address; ``private``: others may lead into the private network, too.
        ``start``: the first byte that is wanted."""
        self._address = address
        self._live = live
        self._trusted = trusted
        self._private = private
        self._stall = stall
        self._at = start
        self.size = 0
        """Bytes of all of it; 0: not known."""
        self.titles: list[str] = []
        self._mp3 = False
        self._whole = False

    async def read(self, threads: Executor | None) -> AsyncIterator[Pcm]:
        """Yield what it plays. Raises SoundFailed."""
        loop = asyncio.get_running_loop()
        decoder: StreamDecoder | None = None
        try:
            async with closing(self._bytes()) as pieces:
                async for data in pieces:
                    if data is None:  # opened anew: what follows is not joined to what was before
                        if decoder is not None:
                            decoder.close()
                        decoder = None
                        continue
                    decoder = decoder or StreamDecoder(mp3=self._mp3)
                    for pcm in await loop.run_in_executor(threads, decoder.feed, data):
                        yield pcm
            if decoder is not None:
                for pcm in await loop.run_in_executor(threads, decoder.finish):
                    yield pcm
        finally:
            if decoder is not None:
                decoder.close()

    async def _bytes(self) -> AsyncIterator[bytes | None]:
        """Yield the bytes of sound, through all connections; None where a new beginning is."""
        fails, last = 0, SoundFailed("media_unreachable", "nothing came")
        while fails < ATTEMPTS:
            if fails:
                await asyncio.sleep(WAITS_S[fails - 1])
            came = 0
            try:
                async with closing(self.connection()) as pieces:
                    async for data in pieces:
                        came += len(data)
                        if came > BUFFER_BYTES:
                            fails = 0
                        yield data
            except SoundFailed as failed:
                last = failed
                if failed.key not in {"media_unreachable", "media_stalled"}:
                    raise
            if self._whole:
                return
            if came and last.key == "media_unreachable":
                last = SoundFailed("media_stalled", "the stream broke off")
            fails += 1
            if self._live or not self.size:
                yield None
        raise last

    async def connection(self) -> AsyncIterator[bytes]:
        """Yield the sound of one connection. Raises SoundFailed."""
        writer: asyncio.StreamWriter | None = None
        try:
            reader, writer, head = await self._open()
            async with closing(self._body(reader, head)) as pieces:
                async for data in pieces:
                    yield data
        except TimeoutError:
            raise SoundFailed("media_stalled", "nothing came in time") from None
        except (
            OSError,
            asyncio.IncompleteReadError,
            asyncio.LimitOverrunError,
            ValueError,
        ) as error:
            raise SoundFailed("media_unreachable", type(error).__name__) from None
        finally:
            if writer is not None:
                writer.transport.abort()

    async def _body(self, reader: asyncio.StreamReader, head: Head) -> AsyncIterator[bytes]:
        chunks = (
            Chunks() if "chunked" in head.headers.get("transfer-encoding", "").lower() else None
        )
        icy = Icy(head.number("icy-metaint"))
        length = 0 if chunks else head.number("content-length")
        partial = head.status == 206
        skip = 0 if partial or self._live else self._at
        if length and not self._live:
            self.size = length + (self._at if partial else 0)
        self._mp3 = "mpeg" in head.content_type
        taken, batch = 0, b""
        while not (length and taken >= length) and not (chunks and chunks.ended):
            async with asyncio.timeout(self._stall):
                data = await reader.read(16_384)
            if not data:
                break
            taken += len(data)
            sound, titles = icy.feed(chunks.feed(data) if chunks else data)
            self.titles = [*self.titles, *titles][-4:]
            passed = min(skip, len(sound))
            skip -= passed
            batch += sound[passed:]
            if len(batch) >= BATCH_BYTES or (batch and taken < 2 * BATCH_BYTES):
                self._at += len(batch)
                yield batch
                batch = b""
        self._at += len(batch)
        ended = taken >= length if length else chunks is None or chunks.ended
        self._whole = ended and not self._live
        if batch:
            yield batch

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, Head]:
        """Follow redirects and playlists. Raises SoundFailed, OSError, TimeoutError."""
        address, private = self._address, self._private or self._trusted
        for _ in range(MAX_HOPS + 1):
            reader, writer, head, inside = await self._ask(address, private=private)
            try:
                target = await self._target(reader, head, address)
            except BaseException:
                writer.transport.abort()
                raise
            if target is None:
                return reader, writer, head
            writer.transport.abort()
            # The operator's address may lead on within the network that it lies in.
            private = self._private or (private and inside)
            address = target
        raise SoundFailed("media_unreachable", f"more than {MAX_HOPS} redirects")

    async def _ask(
        self, address: str, *, private: bool
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, Head, bool]:
        url = urlsplit(address)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise SoundFailed("media_format", "no address of HTTP")
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            places = await addresses_of(url.hostname, port, allow_private=private)
        except ToolError as error:
            key = "media_denied" if error.type == "denied" else "media_unreachable"
            raise SoundFailed(key, str(error)) from None
        tls = await asyncio.to_thread(ssl.create_default_context) if url.scheme == "https" else None
        begun = now()
        async with asyncio.timeout(CONNECT_S):
            for place in places:
                with suppress(OSError):
                    reader, writer = await asyncio.open_connection(
                        place,
                        port,
                        ssl=tls,
                        server_hostname=url.hostname if tls else None,
                        limit=BUFFER_BYTES // 2,
                    )
                    break
            else:
                raise SoundFailed("media_unreachable", "no connection")
        try:
            path = f"{url.path or '/'}{'?' + url.query if url.query else ''}"
            span = f"Range: bytes={self._at}-\r\n" if self._at and not self._live else ""
            request = (
                f"GET {path} HTTP/1.1\r\nHost: {url.netloc.rpartition('@')[2]}\r\n"
                f"User-Agent: Vixio\r\nAccept: audio/*, */*\r\nIcy-MetaData: 1\r\n{span}"
                "Connection: close\r\n\r\n"
            )
            writer.write(request.encode("ascii"))
            async with asyncio.timeout(CONNECT_S + self._stall - (now() - begun)):
                data = await reader.readuntil(b"\r\n\r\n")
            if len(data) > MAX_HEAD_BYTES:
                raise SoundFailed("media_unreachable", "the answer's head is too long")
            return reader, writer, Head.read(data), not all(map(is_public, places))
        except BaseException:
            writer.transport.abort()
            raise

    async def _target(self, reader: asyncio.StreamReader, head: Head, address: str) -> str | None:
        """Return where it leads on; None: this is the stream. Raises SoundFailed."""
        if head.status in _REDIRECTS and (location := head.headers.get("location")):
            return urljoin(address, location)
        if head.status == 416:  # all of it was played
            raise SoundFailed("media_gone", "nothing behind what was played")
        if head.status in (429, 500, 502, 503, 504):
            raise SoundFailed("media_unreachable", f"status {head.status}")
        if head.status not in (200, 206):
            raise SoundFailed("media_gone", f"status {head.status}")
        kind = head.content_type
        path = urlsplit(address).path.lower()
        if any(each in kind for each in _LISTS) or path.endswith((".m3u", ".m3u8", ".pls")):
            text = await self._whole_text(reader)
            places = [place for _, place in entries(text)]
            if "#EXT-X-" in text or not places:
                raise SoundFailed("media_format", "HLS, or a playlist without an address")
            return urljoin(address, places[0])
        if any(each in kind for each in _NOT_PLAYED):
            raise SoundFailed("media_format", f"{kind} is not played")
        return None

    async def _whole_text(self, reader: asyncio.StreamReader) -> str:
        data = b""
        async with asyncio.timeout(self._stall):
            while len(data) < _MAX_PLAYLIST and (piece := await reader.read(8_192)):
                data += piece
        return data.decode("utf-8", "replace")

    @property
    def at(self) -> int:
        """Bytes of sound that were read so far."""
        return self._at


async def fetched(stream: Stream, most: int) -> bytes:
    """Return all that an address gives, at most ``most`` bytes. Raises SoundFailed."""
    found = b""
    async with closing(stream.connection()) as pieces:
        async for data in pieces:
            found += data
            if len(found) > most:
                raise SoundFailed("media_format", f"more than {most} bytes")
    return found
