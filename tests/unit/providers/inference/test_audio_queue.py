"""PCM on its way from a model to its listener."""

from __future__ import annotations

import asyncio

import pytest

from vixio.core.errors import ProviderError
from vixio.providers.inference.audio_queue import AudioQueue


async def test_data_comes_as_it_is_made_until_the_end() -> None:
    queue = AudioQueue()
    reading = asyncio.create_task(queue.all())
    for piece in (b"a", b"b", b"c"):
        queue.add(piece)
        await asyncio.sleep(0)
    assert not queue.done
    queue.finish()
    queue.finish(ProviderError("fake", "too late"))
    assert await reading == b"abc"
    assert await queue.next() is None


async def test_an_error_comes_behind_the_data_before_it() -> None:
    queue = AudioQueue()
    queue.add(b"a")
    queue.finish(ProviderError("fake", "it crashed"))
    assert await queue.next() == b"a"
    for _ in range(2):
        with pytest.raises(ProviderError, match="it crashed"):
            await queue.next()


async def test_nothing_is_kept_after_a_cancellation() -> None:
    queue = AudioQueue()
    queue.add(b"a")
    queue.cancel()
    queue.add(b"b")
    queue.finish()
    assert await queue.next() is None
