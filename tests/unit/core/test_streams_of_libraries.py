"""Generators of other libraries are closed with the stream that uses them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.support.generators import left_open
from vixio.core.streams import closing_all


class Library:
    """A stack of generators that do not close one another."""

    def __init__(self) -> None:
        self.closed: list[str] = []

    async def bytes(self) -> AsyncIterator[int]:
        try:
            for number in range(10):
                await asyncio.sleep(0)
                yield number
        finally:
            self.closed.append("bytes")

    async def lines(self) -> AsyncIterator[int]:
        try:
            async for number in self.bytes():
                yield number
        finally:
            self.closed.append("lines")

    async def events(self) -> AsyncIterator[int]:
        try:
            async for number in self.lines():
                yield number
        finally:
            self.closed.append("events")


async def test_a_cut_stream_closes_all_the_outer_ones_first() -> None:
    library = Library()
    with left_open() as names:
        async with closing_all(library.events()) as events:
            assert await anext(events) == 0
        assert library.closed == ["events", "lines", "bytes"]
    assert names == []


async def test_without_it_they_wait_for_the_garbage_collector() -> None:
    library = Library()
    with left_open() as names:
        events = library.events()
        assert await anext(events) == 0
        del events
        await asyncio.sleep(0)
    assert "Library.events" in names


async def test_a_stream_that_is_read_to_its_end() -> None:
    library = Library()
    async with closing_all(library.events()) as events:
        assert [number async for number in events] == list(range(10))
    assert sorted(library.closed) == ["bytes", "events", "lines"]


async def fail_in_the_middle(library: Library) -> None:
    async with closing_all(library.events()) as events:
        await anext(events)
        raise ZeroDivisionError


async def test_an_error_passes_through() -> None:
    library = Library()
    with pytest.raises(ZeroDivisionError):
        await fail_in_the_middle(library)
    assert library.closed == ["events", "lines", "bytes"]


async def test_generators_of_others_are_left_alone() -> None:
    """Those that began outside, and those of another task meanwhile."""
    library, other = Library(), Library()
    outside = other.events()
    async with closing_all(library.events()) as events:
        await anext(events)
        await anext(outside)
        elsewhere = other.lines()
        await asyncio.create_task(anext_of(elsewhere))
    assert other.closed == []
    assert await anext(outside) == 1
    assert await anext(elsewhere) == 1
    for generator in (outside, elsewhere):
        await generator.aclose()  # type: ignore[attr-defined]  # it is a generator


async def anext_of(stream: AsyncIterator[int]) -> int:
    return await anext(stream)


async def test_scopes_within_scopes() -> None:
    inner, outer = Library(), Library()

    async def wrapped() -> AsyncIterator[int]:
        async with closing_all(inner.events()) as events:
            async for number in events:
                yield number

    async with closing_all(outer.events()) as first, closing_all(wrapped()) as second:
        await anext(first)
        await anext(second)
    assert inner.closed == ["events", "lines", "bytes"]
    assert outer.closed == ["events", "lines", "bytes"]


async def test_a_generator_that_another_task_advances_is_left_to_it() -> None:
    gate = asyncio.Event()

    async def slow() -> AsyncIterator[int]:
        yield 0
        await gate.wait()
        yield 1

    kept: list[AsyncIterator[int]] = []

    async def outer() -> AsyncIterator[int]:
        kept.append(slow())
        yield await anext(kept[0])

    async with closing_all(outer()) as stream:
        await anext(stream)
        advancing = asyncio.create_task(anext_of(kept[0]))
        await asyncio.sleep(0)
    gate.set()
    assert await advancing == 1
    await kept[0].aclose()  # type: ignore[attr-defined]  # it is a generator
