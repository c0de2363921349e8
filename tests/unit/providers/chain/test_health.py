"""When a provider that fails is left alone, and how several share the time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers.chain.health import Rest, RestSettings
from vixio.providers.chain.shares import LEAST, Wish, share

ERROR = ProviderError("p", "down", reason="service")


def _pause(rest: Rest, now: float, error: ProviderError = ERROR) -> float:
    rest.failed(rest.admit(), error, now)
    return float(rest.state(now)["again_in_s"])


def test_the_pauses_grow_to_their_bound_and_are_not_all_alike() -> None:
    pauses: list[list[float]] = []
    for _ in range(30):
        rest = Rest(RestSettings(first=1.0, longest=8.0))
        pauses.append([_pause(rest, 1000.0 * number) for number in range(6)])
    for number, base in enumerate((1, 2, 4, 8, 8, 8)):
        drawn = [each[number] for each in pauses]
        assert 0.8 * base - 0.1 <= min(drawn) <= max(drawn) <= 1.2 * base + 0.1
    assert len({each[5] for each in pauses}) > 5


def test_what_somebody_has_to_mend_rests_longer() -> None:
    rest = Rest(RestSettings(first=1.0, unusable=60.0))
    assert _pause(rest, 0.0, ProviderUnavailable("p", "no key")) >= 48


@pytest.mark.parametrize(("asked", "least", "most"), [(30.0, 30, 30), (9999.0, 300, 300)])
def test_the_services_own_wish_counts_within_the_bound(
    asked: float, least: float, most: float
) -> None:
    error = ProviderError("p", "slow down", retry_after=asked)
    assert least <= _pause(Rest(RestSettings(first=1.0)), 0.0, error) <= most


def test_one_trial_at_a_time() -> None:
    rest = Rest(RestSettings(first=1.0))
    assert rest.free(0.0)
    rest.failed(rest.admit(), ERROR, 0.0)
    assert not rest.free(0.5)
    assert rest.free(2.0)
    ticket = rest.admit()
    assert not rest.free(2.0)
    rest.abandoned(ticket)
    assert rest.free(2.0)
    ticket = rest.admit()
    rest.succeeded(ticket)
    assert rest.free(2.0)
    assert rest.state(2.0) == {"state": "ready"}


def test_reports_from_before_the_verdict_are_out_of_date() -> None:
    rest = Rest(RestSettings(first=1.0))
    tickets = [rest.admit() for _ in range(50)]
    for ticket in tickets[:49]:
        rest.failed(ticket, ERROR, 0.0)
    rest.succeeded(tickets[49])
    assert rest.failures == 1


WISHES = st.builds(Wish, st.floats(0.5, 30), st.booleans())


@given(st.lists(WISHES, min_size=1, max_size=6), st.floats(0, 60))
def test_nobody_gets_more_than_wished_or_left(wishes: list[Wish], left: float) -> None:
    got = share(wishes, left)
    assert LEAST <= got <= max(LEAST, min(wishes[0].seconds, left)) + 1e-9


@given(st.lists(st.floats(0.5, 30).map(Wish), min_size=1, max_size=6), st.floats(10, 60))
def test_in_the_worst_case_everybody_gets_something_in_time(
    wishes: list[Wish], left: float
) -> None:
    used = 0.0
    for number in range(len(wishes)):
        got = share(wishes[number:], left - used)
        assert got >= min(wishes[number].seconds, left / len(wishes)) - 1e-9
        used += got
    assert used <= left + 1e-9


def test_what_one_does_not_need_goes_to_the_others() -> None:
    assert share([Wish(15), Wish(15), Wish(2)], 15) == 6.5
    assert share([Wish(2), Wish(15)], 15) == 2
    assert share([Wish(15)], 15) == 15
    assert share([Wish(15), Wish(12, fixed=True)], 15) == 3
    assert share([Wish(12, fixed=True), Wish(15)], 15) == 12
