"""What is kept of a service's answers: by key, for a time, asked for once."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.waiting import until
from vixio.core.errors import ToolError
from vixio.tools.ready.service import FRESH, MAX_KEPT, Kept


class _Service:
    """Answers with a number; ``go``: only then."""

    def __init__(self) -> None:
        self.now = 0.0
        self.asked = 0
        self.go = asyncio.Event()
        self.go.set()
        self.fails = False
        self.renewed = False

    async def ask(self) -> int:
        self.asked += 1
        number = self.asked
        await self.go.wait()
        if self.fails:
            raise ToolError("timeout", "no answer")
        self.renewed = number > 1
        return number


@pytest.fixture
def service() -> _Service:
    return _Service()


@pytest.fixture
def kept(service: _Service) -> Kept[int]:
    return Kept(100.0, lambda: service.now)


async def test_it_is_asked_again_when_its_time_is_over(service: _Service, kept: Kept[int]) -> None:
    assert await kept.get("a", service.ask) == 1
    service.now = 100 * FRESH - 1
    assert await kept.get("a", service.ask) == 1
    assert await kept.get("b", service.ask) == 2
    service.now = 250
    assert await kept.get("a", service.ask) == 3


async def test_near_its_end_it_is_renewed_behind_the_answer(
    service: _Service, kept: Kept[int]
) -> None:
    await kept.get("a", service.ask)
    service.now = 100 * FRESH
    service.go.clear()
    for _ in range(3):
        assert await kept.get("a", service.ask) == 1
    await asyncio.sleep(0)
    assert service.asked == 2
    service.go.set()
    await until(lambda: service.renewed)
    assert await kept.get("a", service.ask) == 2
    service.now = 160
    assert await kept.get("a", service.ask) == 2


async def test_a_renewal_that_fails_costs_nothing(service: _Service, kept: Kept[int]) -> None:
    await kept.get("a", service.ask)
    service.now, service.fails = 80, True
    assert await kept.get("a", service.ask) == 1
    service.now = 99
    assert await kept.get("a", service.ask) == 1
    service.now = 100
    with pytest.raises(ToolError):
        await kept.get("a", service.ask)
    service.fails = False
    assert await kept.get("a", service.ask) > 1  # a failure is not kept


async def test_one_request_serves_all_that_ask_meanwhile(
    service: _Service, kept: Kept[int]
) -> None:
    service.go.clear()
    calls = [asyncio.create_task(kept.get("a", service.ask)) for _ in range(5)]
    await asyncio.sleep(0)
    calls[0].cancel()
    await asyncio.wait([calls[0]])
    service.go.set()
    assert await asyncio.gather(*calls[1:]) == [1] * 4
    assert service.asked == 1


async def test_it_is_bounded(service: _Service, kept: Kept[int]) -> None:
    for number in range(MAX_KEPT + 1):
        await kept.get(number, service.ask)
    await kept.get(MAX_KEPT, service.ask)
    assert service.asked == MAX_KEPT + 1
    await kept.get(0, service.ask)
    assert service.asked == MAX_KEPT + 2


async def test_its_end_ends_what_is_asked(service: _Service, kept: Kept[int]) -> None:
    service.go.clear()
    call = asyncio.create_task(kept.get("a", service.ask))
    await asyncio.sleep(0)
    await kept.close()
    with pytest.raises(asyncio.CancelledError):
        await call
