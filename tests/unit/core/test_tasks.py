"""Tasks are cancelled and waited for."""

from __future__ import annotations

import asyncio

import pytest

from vixio.core.tasks import cancel_and_wait


async def test_all_have_ended() -> None:
    ended: list[str] = []

    async def work(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # an end takes time
            ended.append(name)

    tasks = [asyncio.create_task(work(name)) for name in "ab"]
    await asyncio.sleep(0)
    await cancel_and_wait(*tasks, None, tasks[0])
    assert sorted(ended) == ["a", "b"]
    assert all(task.cancelled() for task in tasks)


async def test_how_one_ends_is_its_own_affair() -> None:
    async def fails() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("at its end")

    task = asyncio.create_task(fails())
    await asyncio.sleep(0)
    await cancel_and_wait(task)
    with pytest.raises(OSError, match="at its end"):
        task.result()


async def test_what_is_done_costs_no_turn_of_the_loop() -> None:
    task = asyncio.create_task(asyncio.sleep(0))
    await task
    waiting = cancel_and_wait(task, None)
    with pytest.raises(StopIteration):
        waiting.send(None)
    assert not task.cancelled()
