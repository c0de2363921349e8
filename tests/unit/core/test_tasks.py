"""Tasks are cancelled and waited for; clean-up comes to its end."""

from __future__ import annotations

import asyncio

import pytest

from vixio.core.tasks import cancel_and_wait, undisturbed


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


async def test_clean_up_comes_to_its_end_however_often_its_caller_is_cancelled() -> None:
    may_end = asyncio.Event()
    ended: list[str] = []

    async def clean_up() -> None:
        await may_end.wait()
        ended.append("whole")
        raise OSError("nobody asks any more")

    task = asyncio.create_task(undisturbed(clean_up()))
    for _ in range(3):
        await asyncio.sleep(0)
        task.cancel("enough")
    await asyncio.sleep(0)
    assert not task.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError, match="enough"):
        await task
    assert ended == ["whole"]


async def test_undisturbed_work_gives_its_result_or_its_error() -> None:
    async def fails() -> None:
        raise OSError("no such process")

    assert await undisturbed(asyncio.sleep(0, "done")) == "done"
    with pytest.raises(OSError, match="no such process"):
        await undisturbed(fails())
