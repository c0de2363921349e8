"""Downloads one file: it goes on where it stopped, and what arrives is what was announced.

Beside the unfinished file ``….part`` lies ``….part.json``: from where it comes, the server's
validator (an ETag, RFC 9110 8.8.3), and the digest that the whole file has to have. A file is
continued if the same digest is expected, or by the same address with the same strong validator
(``If-Range``); otherwise it begins anew. So parts of two versions are never joined unnoticed: the
digest decides at the end, and if that of a continued file is wrong, it is fetched once more, whole.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from vixio.core.tasks import undisturbed
from vixio.providers.downloads.digests import Digest, digest_of
from vixio.providers.downloads.errors import Trouble, disk_error
from vixio.providers.downloads.hubs import Remote
from vixio.providers.downloads.web import Web

if TYPE_CHECKING:
    import httpx2

_BATCH = 1024 * 1024
"""Bytes that are gathered before a thread writes them."""

_SLOWEST = 512
"""Bytes a second; a connection below it for as long as a silent one may last is given up."""

_MOST_TRIES = 60
"""Of one file, however much progress each makes."""

_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)")

OnBytes = Callable[[int], None]
"""Called with the bytes of the file so far."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a file has to be. None: not known. ``most``: bytes beyond which it is refused."""

    most: int
    size: int | None = None
    sha256: str | None = None
    git: str | None = None

    def mistake(self, digest: Digest) -> str | None:
        """Return what is wrong with a file, None if nothing is."""
        if self.size is not None and digest.size != self.size:
            return f"has {digest.size} bytes instead of {self.size}"
        if self.sha256 is not None and digest.sha256 != self.sha256:
            return f"has the SHA-256 {digest.sha256[:12]}… instead of {self.sha256[:12]}…"
        if self.git is not None and digest.git != self.git:
            return f"has the git digest {digest.git[:12]}… instead of {self.git[:12]}…"
        return None


@dataclass(frozen=True, slots=True)
class _State:
    url: str
    etag: str
    sha256: str | None


async def download(
    web: Web, remote: Remote, path: Path, expected: Expected, on_bytes: OnBytes
) -> Digest:
    """Download a file to ``path``, whose folder exists, and return its digests.

    Raises Trouble when this source does not give the file; what has arrived stays for the next
    try, unless it is wrong. Raises ModelError when the disk does not take it.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        return await _downloaded(web, remote, path, part, expected, on_bytes)
    except OSError as error:
        raise disk_error(error, path.parent) from error


async def _downloaded(
    web: Web, remote: Remote, path: Path, part: Path, expected: Expected, on_bytes: OnBytes
) -> Digest:
    failures = mistakes = 0
    fresh = False
    for _ in range(_MOST_TRIES):
        start = 0 if fresh else await asyncio.to_thread(_resumable, part, remote, expected)
        try:
            begun = await _attempt(web, remote, part, start, expected, on_bytes)
        except Trouble as trouble:
            size = await asyncio.to_thread(_size, part)
            failures = 0 if size > start else failures + 1
            fresh = False
            if failures >= web.patience.tries:
                raise
            await web.pause(trouble, max(0, failures - 1))
            continue
        digest = await digest_of(part)
        mistake = expected.mistake(digest)
        if mistake is None:
            await asyncio.to_thread(_finish, part, path)
            return digest
        await asyncio.to_thread(_discard, part)
        mistakes += 1
        if not begun or mistakes > 1:
            raise Trouble(f"another file than expected: it {mistake}")
        fresh = True  # parts of two versions were joined
    raise Trouble("its connections break again and again")


async def _attempt(
    web: Web, remote: Remote, part: Path, start: int, expected: Expected, on_bytes: OnBytes
) -> int:
    """Fetch the rest of the file; return how much of it was there before. Raises Trouble."""
    if start and start == expected.size:
        return start
    headers = {"Accept-Encoding": "identity"}
    state = await asyncio.to_thread(_state, part) if start else None
    same = state is not None and state.url == remote.url
    if start:
        headers["Range"] = f"bytes={start}-"
        if same and state is not None and _strong(state.etag):
            headers["If-Range"] = state.etag
    async with web.open(remote.url, headers, access=remote.access) as answer:
        etag = answer.headers.get("etag", "")
        if answer.status_code == 416:
            await asyncio.to_thread(_discard, part)
            raise Trouble("has less of the file than this machine", again=True)
        if answer.status_code == 206:
            known = state.etag if same and state is not None else ""
            changed = bool(known and etag) and etag != known
            if changed or not start or not _continues(answer, start, expected):
                await asyncio.to_thread(_discard, part)
                raise Trouble("continues another file", again=True)
        else:
            start = 0
        _check_headers(answer, start, expected, part.name.removesuffix(".part"))
        await _receive(
            answer, part, start, expected, _State(remote.url, etag, expected.sha256), on_bytes, web
        )
    return start


async def _receive(
    answer: httpx2.Response,
    part: Path,
    start: int,
    expected: Expected,
    state: _State,
    on_bytes: OnBytes,
    web: Web,
) -> None:
    """Write the body behind the first ``start`` bytes of the part. Raises Trouble."""
    file = await asyncio.to_thread(_open, part, start, state)
    loop = asyncio.get_running_loop()
    stall = web.patience.stall
    size, since, since_size = start, loop.time(), start
    batch = bytearray()
    writing: asyncio.Future[int] | None = None
    try:
        on_bytes(size)
        async for piece in answer.aiter_raw():
            size += len(piece)
            if size > (expected.most if expected.size is None else expected.size):
                raise Trouble("sends more than it announced")
            batch += piece
            if len(batch) >= _BATCH:
                writing = asyncio.ensure_future(asyncio.to_thread(file.write, bytes(batch)))
                batch.clear()
                await asyncio.shield(writing)
            on_bytes(size)
            if loop.time() - since > stall:
                if size - since_size < stall * _SLOWEST:
                    raise Trouble("nearly silent", again=True)
                since, since_size = loop.time(), size
    finally:
        # Also when it is cancelled: what has arrived is kept, in its order.
        await undisturbed(_keep(file, writing, bytes(batch)))
    if expected.size is not None and size < expected.size:
        raise Trouble("closed the connection early", again=True)


def _check_headers(answer: httpx2.Response, start: int, expected: Expected, name: str) -> None:
    """Raise Trouble if the answer cannot be the file, before any of it is written."""
    headers = answer.headers
    media = headers.get("content-type", "").partition(";")[0].strip().lower()
    if media == "text/html" and not name.endswith((".html", ".htm")):
        raise Trouble("a web page instead of the file (a login page of the network?)")
    if headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
        raise Trouble("sends the file compressed, though it was asked not to")
    length = headers.get("content-length", "")
    if not re.fullmatch(r"\d{1,18}", length):
        return
    size = start + int(length)
    if expected.size is not None and size != expected.size:
        raise Trouble(f"another file than expected: it has {size} bytes instead of {expected.size}")
    if size > expected.most:
        raise Trouble(f"announces {size} bytes, which is far more than expected")


def _continues(answer: httpx2.Response, start: int, expected: Expected) -> bool:
    """Whether a partial answer begins at ``start``, of a file of the expected size."""
    found = _RANGE.fullmatch(answer.headers.get("content-range", "").strip())
    if found is None or int(found[1]) != start:
        return False
    return found[3] == "*" or expected.size is None or int(found[3]) == expected.size


def _strong(etag: str) -> bool:
    return etag.startswith('"') and etag.endswith('"') and len(etag) > 2


def _place(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _state(part: Path) -> _State | None:
    try:
        said: dict[str, Any] = json.loads(_place(part).read_text("utf-8"))
        return _State(str(said["url"]), str(said["etag"]), said["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # without it, the part is of no use


def _resumable(part: Path, remote: Remote, expected: Expected) -> int:
    """Return the bytes of the part that may be kept; 0: it is discarded."""
    size, state = _size(part), _state(part)
    most = expected.most if expected.size is None else expected.size
    if size and state is not None and size <= most:
        if expected.sha256 is not None and state.sha256 == expected.sha256:
            return size
        if state.url == remote.url and _strong(state.etag):
            return size
    _discard(part)
    return 0


def _open(part: Path, start: int, state: _State) -> IO[bytes]:
    """Open the part for writing behind its first ``start`` bytes."""
    file = part.open("r+b" if start else "wb")
    try:
        file.truncate(start)
        file.seek(start)
        _place(part).write_text(json.dumps(asdict(state)), "utf-8")
    except BaseException:
        file.close()
        raise
    return file


async def _keep(file: IO[bytes], writing: asyncio.Future[int] | None, rest: bytes) -> None:
    """Write ``rest`` behind what is being written, and close the file."""
    if writing is not None:
        await asyncio.wait([writing])
    await asyncio.to_thread(_close, file, rest)


def _close(file: IO[bytes], rest: bytes) -> None:
    with file:
        file.write(rest)
        file.flush()
        os.fsync(file.fileno())


def _finish(part: Path, path: Path) -> None:
    part.replace(path)
    _place(part).unlink(missing_ok=True)


def _discard(part: Path) -> None:
    part.unlink(missing_ok=True)
    _place(part).unlink(missing_ok=True)
