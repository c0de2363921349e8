"""Answers in pieces: joined for the model, or spoken as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.waiting import until
from tests.unit.tools.broker.place import (
    Place,
    call,
)
from vixio.bus import DynamicToolService, ToolError
from vixio.core.chunk import Chunk, TextDelta


@pytest.fixture
def place() -> Place:
    """Return a broker of the test's own."""
    return Place()


class Counting(DynamicToolService):
    """Counts to three, in pieces."""

    id = "counting"
    tools = (
        {"name": "count", "description": "Count."},
        {"name": "count-aloud", "description": "Count.", "stream": "say", "idempotent": True},
    )

    def __init__(self) -> None:
        self.calls = 0
        self.error: ToolError | None = None
        self.go = asyncio.Event()
        self.go.set()

    async def invoke(
        self, user: str, config: dict[str, Any], arguments: dict[str, Any]
    ) -> AsyncIterator[str]:
        """Yield a number a piece."""
        self.calls += 1
        yield "One. "
        await self.go.wait()
        if self.error is not None:
            raise self.error
        yield "Two. "
        yield "Three. "


async def test_a_stream_is_joined_for_the_model(place: Place) -> None:
    async with place.service(Counting()), place.runtime() as (runtime, _):
        session = runtime.open("aa:bb", "s")
        result = await call(session, "count")
        assert (result.result, result.spoken) == ("One. Two. Three. ", False)


async def test_a_stream_is_spoken_as_it_comes(place: Place) -> None:
    said: list[Chunk] = []
    counting = Counting()
    async with place.service(counting), place.runtime() as (runtime, _):
        session = runtime.open("aa:bb", "s")
        turn = session.begin_turn(7, "en", said.append)
        counting.go.clear()
        calling = asyncio.create_task(call(session, "count-aloud", turn))
        await until(lambda: said, what="the first piece")
        assert not calling.done()
        counting.go.set()
        result = await calling
    assert result.spoken
    assert result.for_model() == "[already spoken to the user] One. Two. Three."
    words = [chunk.text for chunk in said if isinstance(chunk, TextDelta)]
    assert "".join(words).split() == ["One.", "Two.", "Three."]


async def test_a_stream_that_was_heard_is_not_tried_again(place: Place) -> None:
    said: list[Chunk] = []
    counting = Counting()
    counting.error = ToolError("failed", "lost count", retryable=True)
    async with place.service(counting), place.runtime() as (runtime, _):
        session = runtime.open("aa:bb", "s")
        turn = session.begin_turn(7, "en", said.append)
        result = await call(session, "count-aloud", turn)
    assert (result.success, result.error, result.retryable) == (False, "lost count", False)
    assert counting.calls == 1
