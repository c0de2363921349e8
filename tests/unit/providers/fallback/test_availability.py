"""Whether a provider can be asked: its circuit, and what its service says meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tests.session.conversation import on_virtual_time
from vixio.core.errors import REQUEST, ProviderError, ProviderUnavailable
from vixio.providers.fallback.availability import Availability, Place
from vixio.providers.fallback.circuit_breaker import BreakerSettings

DOWN = ProviderError("p", "cannot be reached", reason="unreachable")
SETTINGS = BreakerSettings(first=5.0, longest=300.0, unusable=60.0)


class Service:
    """Can be asked; ``answer`` is raised, or awaited for ever if it hangs."""

    def __init__(self) -> None:
        self.answer: Exception | None = None
        self.hangs = False
        self.asked: list[float] = []

    async def verify(self) -> bool:
        self.asked.append(asyncio.get_running_loop().time())
        if self.hangs:
            await asyncio.Event().wait()
        if self.answer is not None:
            raise self.answer
        return True


def _available(service: object) -> tuple[Availability, Callable[[], bool]]:
    available = Availability("p", service, SETTINGS, Place(0, "10.0.0.1:80"))
    return available, lambda: available.allows(asyncio.get_running_loop().time())


def _fail(available: Availability, error: ProviderError = DOWN) -> None:
    available.report(available.begin(), error)
    available.over()


@on_virtual_time
async def test_no_turn_is_spent_on_a_service_that_is_down_and_one_that_is_back_is_used() -> None:
    service = Service()
    available, allowed = _available(service)
    for _ in range(8):  # the pause of the circuit alone is five minutes by now
        _fail(available)
    service.answer = DOWN
    await asyncio.sleep(3_600)
    assert not allowed()
    assert available.state(asyncio.get_running_loop().time())["state"] == "open"
    assert 3_600 / 6 - 2 <= len(service.asked) <= 3_600 / 4 + 2
    service.answer = None
    await asyncio.sleep(6.1)
    assert allowed()
    assert available.state(asyncio.get_running_loop().time())["state"] == "half_open"
    asked = len(service.asked)
    available.succeeded(available.begin())
    await asyncio.sleep(600)
    assert (len(service.asked), available.breaker.failures) == (asked, 0)


@on_virtual_time
async def test_a_service_that_answers_although_uses_fail_has_the_pause_of_its_circuit() -> None:
    service = Service()
    available, allowed = _available(service)
    for _ in range(4):  # 40 s, up to a fifth more or less
        _fail(available)
    await asyncio.sleep(31)
    assert not allowed()
    assert len(service.asked) == 1
    await asyncio.sleep(18)
    assert allowed()


@on_virtual_time
async def test_one_that_does_not_answer_in_time_counts_as_down() -> None:
    service = Service()
    service.hangs = True
    available, allowed = _available(service)
    _fail(available)
    await asyncio.sleep(100)
    assert not allowed()
    service.hangs = False
    await asyncio.sleep(17)
    assert allowed()


@on_virtual_time
async def test_what_an_operator_must_fix_is_asked_about_once_a_minute() -> None:
    service = Service()
    available, _ = _available(service)
    service.answer = ProviderUnavailable("p", "no key")
    _fail(available, ProviderUnavailable("p", "no key"))
    await asyncio.sleep(600)
    assert 7 <= len(service.asked) <= 12


@on_virtual_time
async def test_without_a_service_to_ask_the_circuit_alone_counts() -> None:
    available, allowed = _available(object())
    _fail(available)
    assert not allowed()
    await asyncio.sleep(6.1)
    assert allowed()


@pytest.mark.parametrize("closed", [True, False])
def test_what_does_not_concern_its_health_starts_nothing(closed: bool) -> None:
    @on_virtual_time
    async def run() -> None:
        service = Service()
        available, allowed = _available(service)
        if closed:
            _fail(available)
            await available.close()
        else:
            _fail(available, ProviderError("p", "too long", reason=REQUEST))
            available.report(available.begin(), DOWN, watch=False)  # it has not started
            await asyncio.sleep(6.1)
            assert allowed()
        await asyncio.sleep(600)
        assert service.asked == []
        assert len(asyncio.all_tasks()) == 1

    run()


def test_fewest_uses_come_first_and_of_equals_the_one_unused_for_longest() -> None:
    one, two, three = (Availability("p", object(), SETTINGS, Place(group)) for group in (0, 0, 1))

    def first() -> Availability:
        return min((one, two, three), key=lambda each: each.order())

    assert first() is one
    one.begin()
    assert first() is two
    two.begin()
    assert first() is one
    one.begin()
    assert first() is two
    two.over()
    one.over()
    one.over()
    assert first() is two
    assert (one.pending, two.pending) == (0, 0)
