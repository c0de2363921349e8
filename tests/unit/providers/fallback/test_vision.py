"""Fallback of vision providers: the next one gets the photo."""

from __future__ import annotations

import asyncio

import pytest

from vixio.core.errors import ProviderError
from vixio.providers.fallback.vision import FallbackVisionProvider
from vixio.providers.vision import Photo, VisionProvider

PHOTO = Photo(b"\xff\xd8\xff", "image/jpeg")


class Eye(VisionProvider):
    def __init__(self, name: str, error: Exception | None = None, delay: float = 0.0) -> None:
        self.name = name
        self.error = error
        self.delay = delay
        self.seen: list[tuple[Photo, str, str]] = []
        self.asked = asyncio.Event()

    async def start(self) -> None:
        pass

    async def explain(self, photo: Photo, question: str, *, language: str = "") -> str:
        self.asked.set()
        self.seen.append((photo, question, language))
        await asyncio.sleep(self.delay)
        if self.error is not None:
            raise self.error
        return f"seen by {self.name}"

    async def close(self) -> None:
        pass


async def ask(fallback: FallbackVisionProvider) -> str:
    async with asyncio.timeout(30):
        return await fallback.explain(PHOTO, "what is it?", language="en")


@pytest.mark.parametrize("broken", [Eye("a", ProviderError("a", "no")), Eye("a", delay=1_000)])
async def test_the_next_gets_the_photo(broken: Eye) -> None:
    sound = Eye("b")
    fallback = FallbackVisionProvider([broken, sound], seconds=1.0)
    await fallback.start()
    assert await ask(fallback) == "seen by b"
    assert sound.seen == broken.seen == [(PHOTO, "what is it?", "en")]
    assert fallback.stats()[0]["state"] == "open"
    await fallback.close()


async def test_a_photo_that_is_refused_says_nothing_of_health() -> None:
    fallback = FallbackVisionProvider(
        [Eye("a", ProviderError("a", "no", reason="request")), Eye("b")]
    )
    await fallback.start()
    assert await ask(fallback) == "seen by b"
    assert fallback.stats()[0]["state"] == "ready"
    assert fallback.stats()[0]["failed"] == 1
    await fallback.close()


async def test_all_failing_is_the_first_ones_error() -> None:
    fallback = FallbackVisionProvider([Eye("a", ProviderError("a", "no")), Eye("b", ValueError())])
    await fallback.start()
    with pytest.raises(ProviderError, match="a: no"):
        await ask(fallback)
    await fallback.close()
    with pytest.raises(ProviderError, match="closed"):
        await ask(fallback)


async def test_cancelling_gives_the_question_up() -> None:
    eye, other = Eye("a", delay=1_000), Eye("b")
    fallback = FallbackVisionProvider([eye, other])
    await fallback.start()
    asking = asyncio.create_task(fallback.explain(PHOTO, "?"))
    async with asyncio.timeout(30):
        await eye.asked.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert other.seen == []
    assert fallback.stats()[0]["state"] == "ready"
    await fallback.close()
