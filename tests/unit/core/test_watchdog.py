"""The watchdog does what asyncio.timeout_at does, with one timer for many awaits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from vixio.core.clock import now
from vixio.core.watchdog import Watchdog
from vixio.testing import run_virtual


def test_what_takes_too_long_is_ended() -> None:
    async def run() -> None:
        watchdog = Watchdog()
        began = now()
        with pytest.raises(TimeoutError), watchdog.until(began + 2.0):
            await asyncio.sleep(10.0)
        assert now() - began == pytest.approx(2.0)
        assert watchdog.expired
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    run_virtual(run())


def test_each_await_has_its_whole_time() -> None:
    async def run() -> None:
        watchdog = Watchdog()
        for _ in range(50):
            with watchdog.until(now() + 2.0):
                await asyncio.sleep(1.5)
            await asyncio.sleep(1.0)
        began = now()
        with pytest.raises(TimeoutError), watchdog.until(began + 2.0):
            await asyncio.sleep(2.5)
        assert now() - began == pytest.approx(2.0)
        watchdog.close()

    run_virtual(run())


def test_a_nearer_deadline_comes_first() -> None:
    async def run() -> None:
        watchdog = Watchdog()
        with watchdog.until(now() + 60.0):
            await asyncio.sleep(0.1)
        began = now()
        with pytest.raises(TimeoutError), watchdog.until(began + 0.5):
            await asyncio.sleep(5.0)
        assert now() - began == pytest.approx(0.5)

    run_virtual(run())


def test_an_await_that_does_not_wait_is_not_ended() -> None:
    async def run() -> None:
        watchdog = Watchdog()
        with watchdog.until(now() - 1.0):
            pass
        await asyncio.sleep(1.0)
        assert not watchdog.expired

    run_virtual(run())


def test_one_timer_serves_a_thousand_awaits(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        loop = asyncio.get_running_loop()
        made = 0
        call_at = loop.call_at

        def counting(when: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
            nonlocal made
            made += 1
            return call_at(when, callback)

        monkeypatch.setattr(loop, "call_at", counting)
        watchdog = Watchdog()
        for _ in range(1000):
            with watchdog.until(now() + 2.0):
                await asyncio.sleep(0)
        assert made == 1
        watchdog.close()

    run_virtual(run())


def test_errors_and_cancellation_from_elsewhere_pass() -> None:
    async def run() -> None:
        watchdog = Watchdog()
        with pytest.raises(KeyError), watchdog.until(now() + 1.0):
            raise KeyError

        async def wait() -> None:
            with watchdog.until(now() + 5.0):
                await asyncio.sleep(10.0)

        task = asyncio.create_task(wait())
        await asyncio.sleep(1.0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not watchdog.expired

    run_virtual(run())


def test_cancelled_and_expired_at_once_is_cancelled() -> None:
    async def run() -> None:
        watchdog = Watchdog()

        async def wait() -> None:
            with watchdog.until(now() + 1.0):
                try:
                    await asyncio.sleep(10.0)
                finally:
                    task.cancel()

        task = asyncio.create_task(wait())
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    run_virtual(run())


def test_it_watches_one_task_at_a_time() -> None:
    async def run() -> None:
        watchdog = Watchdog()
        with (
            watchdog.until(now() + 1.0),
            pytest.raises(RuntimeError),
            watchdog.until(now() + 1.0),
        ):
            pass
        watchdog.close()

    run_virtual(run())
