"""Work that a station hands to its session just when the session ends."""

from __future__ import annotations

import asyncio
import inspect

from vixio.core.history import History
from vixio.core.metrics import Counters
from vixio.core.pipeline import Pipeline
from vixio.core.session.session import Session
from vixio.core.session.settings import SessionSettings
from vixio.core.tools.toolset import ToolSet
from vixio.testing import ManualConnection


def session(device: ManualConnection) -> Session:
    return Session(device, Pipeline([]), History(), ToolSet(), Counters(), SessionSettings())


async def _work(begun: list[str]) -> None:
    begun.append("yes")


async def test_work_whose_task_never_steps_is_closed() -> None:
    device = ManualConnection()
    ending = session(device)
    running = asyncio.create_task(ending.run())
    await asyncio.sleep(0)
    begun: list[str] = []
    work = _work(begun)
    device.vanish()  # the listening task wakes before the new one takes its first step
    ending.context.spawn(work)
    await running
    assert not begun
    assert inspect.getcoroutinestate(work) == inspect.CORO_CLOSED


async def test_work_that_comes_while_the_tasks_end_is_closed() -> None:
    device = ManualConnection()
    ending = session(device)
    begun: list[str] = []
    late = _work(begun)

    async def stubborn() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ending.context.spawn(late)

    running = asyncio.create_task(ending.run())
    await asyncio.sleep(0)
    ending.context.spawn(stubborn())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    device.vanish()
    await running
    assert not begun
    assert inspect.getcoroutinestate(late) == inspect.CORO_CLOSED


async def test_work_after_the_end_is_closed() -> None:
    device = ManualConnection()
    ended = session(device)
    device.vanish()
    await ended.run()
    work = _work([])
    ended.context.spawn(work)
    assert inspect.getcoroutinestate(work) == inspect.CORO_CLOSED
