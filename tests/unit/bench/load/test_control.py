"""The line between the bench and its processes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from vixio_bench.load.control import BenchError, Handler, Hub, Json, Line, Peer, attend


async def _double(asked: Json) -> Json:
    return {"twice": 2 * asked["number"]}


async def _fail(_: Json) -> Json:
    raise ValueError("no")


async def _unspeakable(_: Json) -> Json:
    return {"what": object()}


async def _hang(_: Json) -> Json:
    await asyncio.Event().wait()
    return {}


HANDLERS: dict[str, Handler] = {
    "double": _double,
    "fail": _fail,
    "hang": _hang,
    "unspeakable": _unspeakable,
}


@asynccontextmanager
async def called_in(
    hub: Hub, line: Line | None = None
) -> AsyncIterator[tuple[Peer, asyncio.Task[None]]]:
    task = asyncio.create_task(attend(line or hub.line("server", 3), HANDLERS, {"port": 7}))
    peer = await hub.wait("server", 3, timeout=60)
    try:
        yield peer, task
    finally:
        peer.hang_up()
        await asyncio.wait_for(task, 30)


async def test_questions_are_answered_side_by_side() -> None:
    async with Hub() as hub, called_in(hub) as (peer, _):
        assert peer.said["port"] == 7
        hanging = asyncio.create_task(peer.ask("hang", timeout=30))
        answers = await asyncio.gather(*(peer.ask("double", number=n) for n in range(20)))
        assert [answer["twice"] for answer in answers] == [2 * n for n in range(20)]
        hanging.cancel()


@pytest.mark.parametrize(
    ("do", "told"),
    [("fail", "ValueError: no"), ("unspeakable", "TypeError"), ("nonsense", "KeyError")],
)
async def test_what_goes_wrong_there_is_told_here(do: str, told: str) -> None:
    async with Hub() as hub, called_in(hub) as (peer, _):
        with pytest.raises(BenchError, match=told):
            await peer.ask(do)


async def test_no_answer_in_time() -> None:
    async with Hub() as hub, called_in(hub) as (peer, _):
        with pytest.raises(BenchError, match=r"did not hang within 0\.05 s"):
            await peer.ask("hang", timeout=0.05)


async def test_a_process_that_ends_fails_what_waits_for_it() -> None:
    async with Hub() as hub:
        task = asyncio.create_task(attend(hub.line("server", 3), HANDLERS, {}))
        peer = await hub.wait("server", 3, timeout=60)
        waiting = asyncio.create_task(peer.ask("hang", timeout=30))
        await peer.ask("double", number=1)
        peer.hang_up()
        with pytest.raises(BenchError, match="ended"):
            await asyncio.wait_for(waiting, 30)
        with pytest.raises(BenchError, match="has ended"):
            await peer.ask("double", number=1)
        await asyncio.wait_for(task, 30)


async def test_hanging_up_ends_the_process() -> None:
    async with Hub() as hub:
        task = asyncio.create_task(attend(hub.line("server", 3), HANDLERS, {}))
        await hub.wait("server", 3, timeout=60)
    await asyncio.wait_for(task, 30)


async def test_a_wrong_token_is_not_let_in() -> None:
    async with Hub() as hub:
        line = replace(hub.line("server", 3), token="guessed")
        await asyncio.wait_for(attend(line, HANDLERS, {}), 30)  # the line is closed at once
        with pytest.raises(BenchError, match="did not start"):
            await hub.wait("server", 3, timeout=0.05)
