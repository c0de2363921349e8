"""What every vision provider does."""

from __future__ import annotations

import asyncio

import pytest

from vixio.cli.diagnostics.pictures import BLUE, RED, plain_png
from vixio.core.errors import ProviderError
from vixio.providers.vision import Photo, VisionProvider
from vixio.testing.contract.base import LIMIT, ProviderContract

PHOTO = Photo(plain_png(RED), "image/png")
QUESTION = "Which colour is this?"


async def ask(
    vision: VisionProvider, photo: Photo = PHOTO, question: str = QUESTION, language: str = ""
) -> str:
    async with asyncio.timeout(LIMIT):
        return await vision.explain(photo, question, language=language)


class VisionContract(ProviderContract[VisionProvider]):
    """What every vision provider does. The stand-in service answers any question about a photo."""

    @pytest.fixture
    def vision(self, provider: VisionProvider) -> VisionProvider:
        """Return a started provider, a new one for each test."""
        return provider

    async def test_a_photo_becomes_words(self, vision: VisionProvider) -> None:
        answer = await ask(vision)
        assert isinstance(answer, str)
        assert answer == answer.strip() != ""

    @pytest.mark.parametrize("language", ["", "en", "en-GB", "zh-CN", "xx-Unknown", "not a tag"])
    async def test_any_language(self, vision: VisionProvider, language: str) -> None:
        assert await ask(vision, language=language)

    @pytest.mark.parametrize(
        "question", ["", "这是什么颜色？", "what? " * 2_000, "\x07", "surrogate \ud800"]
    )
    async def test_odd_questions_break_nothing(self, vision: VisionProvider, question: str) -> None:
        try:
            assert await ask(vision, question=question)
        except ProviderError:
            pass  # a service may refuse them
        assert await ask(vision)

    @pytest.mark.parametrize(
        "photo",
        [
            Photo(b"", "image/jpeg"),
            Photo(b"no picture", "image/jpeg"),
            Photo(PHOTO.data[:100], "image/png"),
            Photo(PHOTO.data + bytes(1024 * 1024), "image/png"),
        ],
        ids=["empty", "no picture", "cut", "a megabyte"],
    )
    async def test_odd_photos_break_nothing(self, vision: VisionProvider, photo: Photo) -> None:
        try:
            assert await ask(vision, photo)
        except ProviderError:
            pass  # a service may refuse them
        assert await ask(vision)

    async def test_several_at_once(self, vision: VisionProvider) -> None:
        photos = [Photo(plain_png(colour), "image/png") for colour in (RED, BLUE)] * 4
        assert all(await asyncio.gather(*(ask(vision, photo) for photo in photos)))

    @pytest.mark.parametrize("yields", [0, 1, 2, 10, 50])
    async def test_cancellation_at_any_stage(self, vision: VisionProvider, yields: int) -> None:
        for _ in range(5):
            asking = asyncio.create_task(ask(vision))
            for _ in range(yields):
                await asyncio.sleep(0)
            answered = asking.done()
            asking.cancel()
            (result,) = await asyncio.gather(asking, return_exceptions=True)
            assert isinstance(result, str if answered else asyncio.CancelledError)
        assert await ask(vision)

    async def test_not_started_refuses(self, unstarted: VisionProvider) -> None:
        with pytest.raises(ProviderError):
            await ask(unstarted)

    async def test_start_is_idempotent(self, unstarted: VisionProvider) -> None:
        await asyncio.gather(unstarted.start(), unstarted.start())
        await unstarted.start()
        assert await ask(unstarted)

    async def test_a_cancelled_start_leaves_nothing(self, unstarted: VisionProvider) -> None:
        starting = asyncio.create_task(unstarted.start())
        await asyncio.sleep(0)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)

    @pytest.mark.parametrize("yields", [1, 5, 50])
    async def test_close_fails_who_asks(self, vision: VisionProvider, yields: int) -> None:
        asking = [asyncio.create_task(ask(vision)) for _ in range(3)]
        for _ in range(yields):
            await asyncio.sleep(0)
        async with asyncio.timeout(LIMIT):
            await vision.close()
            results = await asyncio.gather(*asking, return_exceptions=True)
        # One that was answered before the end has its answer.
        assert all(isinstance(each, str | ProviderError) for each in results)
        with pytest.raises(ProviderError):
            await ask(vision)
        await vision.close()
