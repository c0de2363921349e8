"""A thread that works on what the event loop submits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from vixio.core.errors import ProviderError
from vixio.providers.inference.thread import InferenceThread, settle

LIMIT = 30.0


class Collector(InferenceThread[str]):
    """Notes what it takes; waits before each item until it is allowed to go on."""

    def __init__(self) -> None:
        self.taken: list[list[str]] = []
        self.entered = threading.Semaphore(0)
        self.allowed = threading.Semaphore(0)
        super().__init__("vixio-test-collector")

    def _serve(self) -> None:
        while (items := self.take()) is not None:
            self.taken.append(items)
            self.entered.release()
            assert self.allowed.acquire(timeout=LIMIT)

    async def has_taken(self) -> None:
        assert await asyncio.to_thread(self.entered.acquire, timeout=LIMIT)


@pytest.fixture
async def thread() -> AsyncIterator[Collector]:
    made = Collector()
    yield made
    made.stop()
    made.allowed.release()
    await made.join()
    assert "vixio-test-collector" not in {each.name for each in threading.enumerate()}


async def test_what_comes_in_meanwhile_is_taken_together_and_once(thread: Collector) -> None:
    thread.submit("a")
    await thread.has_taken()
    for item in ("b", "c", "b"):
        thread.submit(item)
    thread.allowed.release()
    await thread.has_taken()
    assert thread.taken == [["a"], ["b", "c"]]


async def test_what_waits_at_the_end_is_left(thread: Collector) -> None:
    thread.submit("a")
    await thread.has_taken()
    thread.submit("b")
    thread.stop()
    assert thread.stopping
    thread.allowed.release()
    await thread.join()
    assert thread.taken == [["a"]]


async def test_join_gives_up_on_a_call_that_does_not_return(thread: Collector) -> None:
    thread.submit("a")
    await thread.has_taken()
    thread.stop()
    await thread.join(0.01)
    assert thread.taken == [["a"]]


async def test_results_and_errors_are_settled_once() -> None:
    loop = asyncio.get_running_loop()
    result: asyncio.Future[int] = loop.create_future()
    settle(result, 5, "fake", "decoding")
    settle(result, ValueError("late"), "fake", "decoding")
    assert await result == 5
    known: asyncio.Future[int] = loop.create_future()
    settle(known, ProviderError("other", "a known fault"), "fake", "decoding")
    with pytest.raises(ProviderError, match="other: a known fault"):
        await known
    unknown: asyncio.Future[int] = loop.create_future()
    settle(unknown, ValueError("the user said no"), "fake", "decoding")
    with pytest.raises(ProviderError, match=r"fake: decoding failed \(ValueError") as caught:
        await unknown
    assert "the user" not in str(caught.value)
    assert isinstance(caught.value.__cause__, ValueError)
