"""Work in threads ends when it is cancelled."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from vixio.providers.downloads.digests import Stopped, digest_of, in_thread


@pytest.mark.parametrize("cancellations", [1, 3])
async def test_a_cancelled_thread_is_waited_for(cancellations: int) -> None:
    began, told, may_end, ended = (threading.Event() for _ in range(4))

    def work(stop: threading.Event) -> None:
        began.set()
        assert stop.wait(30)
        told.set()
        assert may_end.wait(30)
        ended.set()
        raise Stopped

    task = asyncio.create_task(in_thread(work))
    assert await asyncio.to_thread(began.wait, 30)
    for _ in range(cancellations):
        task.cancel()
        assert await asyncio.to_thread(told.wait, 30)
    may_end.set()
    async with asyncio.timeout(30):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert ended.is_set()


async def test_hashing_a_file_can_be_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(2**40)  # a hole: it takes no room, and hours to read
    began = asyncio.Event()
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(digest_of(path, lambda _: _tell(loop, began)))
    async with asyncio.timeout(30):
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_what_a_thread_raises_is_raised(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        await digest_of(tmp_path / "nothing")


def _tell(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    loop.call_soon_threadsafe(event.set)
