"""Digests of files, computed in a thread that can be told to stop."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from vixio.core.tasks import undisturbed

T = TypeVar("T")

_PIECE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Digest:
    """``git``: SHA-1 of the content as a blob of git, which hubs state for small files."""

    size: int
    sha256: str
    git: str


class Stopped(Exception):
    """The thread was told to stop."""


async def in_thread(work: Callable[[threading.Event], T]) -> T:
    """Run ``work`` in a thread. Cancellation sets its event and waits for the thread to end.

    ``work`` has to look at the event often, and to raise Stopped when it is set.
    """
    stop = threading.Event()
    task = asyncio.ensure_future(asyncio.to_thread(work, stop))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        await undisturbed(asyncio.wait([task]))
        task.exception()  # marks it as retrieved
        raise


async def digest_of(path: Path, on_bytes: Callable[[int], None] | None = None) -> Digest:
    """Return the digests of a file. ``on_bytes``: called with the bytes read so far, in a thread.

    Raises OSError.
    """
    return await in_thread(lambda stop: _digest(path, stop, on_bytes))


def _digest(path: Path, stop: threading.Event, on_bytes: Callable[[int], None] | None) -> Digest:
    done = 0
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        sha256 = hashlib.sha256()
        git = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        while piece := file.read(_PIECE):
            if stop.is_set():
                raise Stopped
            sha256.update(piece)
            git.update(piece)
            done += len(piece)
            if on_bytes is not None:
                on_bytes(done)
    return Digest(done, sha256.hexdigest(), git.hexdigest())
