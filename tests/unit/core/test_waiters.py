from __future__ import annotations

import asyncio

import pytest

from tests.support.waiting import until
from vixio.core.waiters import Waiters


async def test_a_wake_reaches_all_that_wait_and_none_that_come_later() -> None:
    waiters = Waiters()
    waiters.wake()
    both = [asyncio.create_task(waiters.wait()) for _ in range(2)]
    await until(lambda: len(waiters._waiting) == 2)
    later = asyncio.create_task(waiters.wait())
    waiters.wake()  # the third has not begun to wait
    await asyncio.wait(both)
    await until(lambda: len(waiters._waiting) == 1)
    assert not later.done()
    waiters.wake()
    await later


async def test_one_that_is_cancelled_leaves_the_others_waiting_and_nothing_behind() -> None:
    waiters = Waiters()
    cancelled, other = (asyncio.create_task(waiters.wait()) for _ in range(2))
    await until(lambda: len(waiters._waiting) == 2)
    cancelled.cancel()
    waiters.wake()  # both in one step: the cancelled one has not run since
    await other
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    assert waiters._waiting == ()
