"""When a provider that failed is asked again, and how several share the time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers.fallback.circuit_breaker import BreakerSettings, CircuitBreaker
from vixio.providers.fallback.time_shares import MIN_SECONDS, TimeLimit, time_share

ERROR = ProviderError("p", "down", reason="service")


def _delay(breaker: CircuitBreaker, now: float, error: ProviderError = ERROR) -> float:
    breaker.failed(breaker.begin(), error, now)
    return float(breaker.state(now)["retry_in_s"])


def test_delays_grow_to_their_bound_with_jitter() -> None:
    delays: list[list[float]] = []
    for _ in range(30):
        breaker = CircuitBreaker(BreakerSettings(first=1.0, longest=8.0))
        delays.append([_delay(breaker, 1000.0 * number) for number in range(6)])
    for number, base in enumerate((1, 2, 4, 8, 8, 8)):
        drawn = [each[number] for each in delays]
        assert 0.8 * base - 0.1 <= min(drawn) <= max(drawn) <= 1.2 * base + 0.1
    assert len({each[5] for each in delays}) > 5


def test_what_an_operator_must_fix_waits_longer() -> None:
    breaker = CircuitBreaker(BreakerSettings(first=1.0, unusable=60.0))
    assert _delay(breaker, 0.0, ProviderUnavailable("p", "no key")) >= 48


@pytest.mark.parametrize(("asked", "least", "most"), [(30.0, 30, 30), (9999.0, 300, 300)])
def test_retry_after_counts_within_the_bound(asked: float, least: float, most: float) -> None:
    error = ProviderError("p", "slow down", retry_after=asked)
    assert least <= _delay(CircuitBreaker(BreakerSettings(first=1.0)), 0.0, error) <= most


def test_one_trial_at_a_time() -> None:
    breaker = CircuitBreaker(BreakerSettings(first=1.0))
    assert breaker.allows(0.0)
    breaker.failed(breaker.begin(), ERROR, 0.0)
    assert not breaker.allows(0.5)
    assert breaker.allows(2.0)
    ticket = breaker.begin()
    assert not breaker.allows(2.0)
    breaker.abandoned(ticket)
    assert breaker.allows(2.0)
    ticket = breaker.begin()
    breaker.succeeded(ticket)
    assert breaker.allows(2.0)
    assert breaker.state(2.0) == {"state": "ready"}


def test_reports_from_before_the_verdict_are_out_of_date() -> None:
    breaker = CircuitBreaker(BreakerSettings(first=1.0))
    tickets = [breaker.begin() for _ in range(50)]
    for ticket in tickets[:49]:
        breaker.failed(ticket, ERROR, 0.0)
    breaker.succeeded(tickets[49])
    assert breaker.failures == 1


LIMITS = st.builds(TimeLimit, st.floats(0.5, 30), st.booleans())


@given(st.lists(LIMITS, min_size=1, max_size=6), st.floats(0, 60))
def test_none_gets_more_than_its_limit_or_what_is_left(
    limits: list[TimeLimit], left: float
) -> None:
    got = time_share(limits, left)
    assert MIN_SECONDS <= got <= max(MIN_SECONDS, min(limits[0].seconds, left)) + 1e-9


@given(st.lists(st.floats(0.5, 30).map(TimeLimit), min_size=1, max_size=6), st.floats(10, 60))
def test_in_the_worst_case_each_gets_a_share_in_time(limits: list[TimeLimit], left: float) -> None:
    used = 0.0
    for number in range(len(limits)):
        got = time_share(limits[number:], left - used)
        assert got >= min(limits[number].seconds, left / len(limits)) - 1e-9
        used += got
    assert used <= left + 1e-9


def test_what_one_does_not_need_goes_to_the_others() -> None:
    assert time_share([TimeLimit(15), TimeLimit(15), TimeLimit(2)], 15) == 6.5
    assert time_share([TimeLimit(2), TimeLimit(15)], 15) == 2
    assert time_share([TimeLimit(15)], 15) == 15
    assert time_share([TimeLimit(15), TimeLimit(12, fixed=True)], 15) == 3
    assert time_share([TimeLimit(12, fixed=True), TimeLimit(15)], 15) == 12
