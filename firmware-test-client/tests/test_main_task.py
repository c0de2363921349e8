from __future__ import annotations

import asyncio

from firmware_test_client.main_task import MainTask


async def test_work_waits_for_slow_work_before_it() -> None:
    done: list[str] = []
    free = asyncio.Event()

    async def slow() -> None:
        await free.wait()
        done.append("slow")

    main = MainTask(lambda: done.append("free"))
    main.schedule(slow)
    main.schedule(lambda: done.append("next"))
    free.set()
    async with asyncio.timeout(30):
        while len(done) < 3:  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0)
    assert done == ["slow", "free", "next"]


async def test_closing_leaves_no_work_that_was_never_awaited() -> None:
    """The task is cancelled before its first step; Python would warn of the coroutine."""

    async def slow() -> None:
        raise AssertionError("begun")

    main = MainTask(lambda: None)
    main.schedule(slow)
    await main.close()
