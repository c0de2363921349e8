"""Several eyes: the next one gets the photo."""

from __future__ import annotations

import asyncio

import pytest

from vixio.core.errors import ProviderError
from vixio.providers.chain.vision import ChainVisionProvider
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


async def ask(chain: ChainVisionProvider) -> str:
    async with asyncio.timeout(5):
        return await chain.explain(PHOTO, "what is it?", language="en")


@pytest.mark.parametrize("broken", [Eye("a", ProviderError("a", "no")), Eye("a", delay=1_000)])
async def test_the_next_gets_the_photo(broken: Eye) -> None:
    sound = Eye("b")
    chain = ChainVisionProvider([broken, sound], seconds=1.0)
    await chain.start()
    assert await ask(chain) == "seen by b"
    assert sound.seen == broken.seen == [(PHOTO, "what is it?", "en")]
    assert chain.stats()[0]["state"] == "resting"
    await chain.close()


async def test_a_photo_that_is_refused_says_nothing_of_health() -> None:
    chain = ChainVisionProvider([Eye("a", ProviderError("a", "no", reason="request")), Eye("b")])
    await chain.start()
    assert await ask(chain) == "seen by b"
    assert chain.stats()[0]["state"] == "ready"
    assert chain.stats()[0]["failed"] == 1
    await chain.close()


async def test_all_failing_is_the_first_ones_error() -> None:
    chain = ChainVisionProvider([Eye("a", ProviderError("a", "no")), Eye("b", ValueError())])
    await chain.start()
    with pytest.raises(ProviderError, match="a: no"):
        await ask(chain)
    await chain.close()
    with pytest.raises(ProviderError, match="closed"):
        await ask(chain)


async def test_cancelling_gives_the_question_up() -> None:
    eye, other = Eye("a", delay=1_000), Eye("b")
    chain = ChainVisionProvider([eye, other])
    await chain.start()
    asking = asyncio.create_task(chain.explain(PHOTO, "?"))
    async with asyncio.timeout(5):
        await eye.asked.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert other.seen == []
    assert chain.stats()[0]["state"] == "ready"
    await chain.close()
