"""Buckets on an artificial clock."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.core.errors import ConfigError
from vixio.settings import LimitSettings
from vixio.transports.admission.limits import (
    ROUNDING_S,
    Bucket,
    KeyedBuckets,
    Limits,
    share,
)


def test_the_settings_have_the_same_defaults() -> None:
    assert Limits(**LimitSettings().model_dump()) == Limits()


@pytest.mark.parametrize("value", [-1, float("nan")])
def test_a_limit_is_no_less_than_nothing(value: float) -> None:
    with pytest.raises(ConfigError, match="audio_rate"):
        Limits(audio_rate=value)


@pytest.mark.parametrize("value", [0, 0.5])
def test_a_limit_may_be_off_or_a_share(value: float) -> None:
    assert Limits(conversing=value).conversing == value


def test_a_bucket_holds_its_burst_and_fills_with_time() -> None:
    bucket = Bucket(2.0)
    assert [bucket.take(0.5, 100.0) for _ in range(5)] == [True, True, True, True, False]
    assert not bucket.take(0.5, 100.4)
    assert bucket.take(0.5, 100.5)
    assert not bucket.take(0.5, 100.5)
    assert [bucket.take(0.5, 1000.0) for _ in range(5)] == [True, True, True, True, False]


def test_rounding_is_tolerated_to_its_end() -> None:
    assert Bucket(1.0).take(1.0 + ROUNDING_S, 0.0)
    buckets = KeyedBuckets(per_minute=60)
    buckets.charge("a", (60 + ROUNDING_S) - 1, 0.0)
    assert buckets.take("a", 0.0) == 0
    assert buckets.take("a", 0.0) == pytest.approx(1.0)


def test_what_costs_nothing_is_always_there() -> None:
    bucket = Bucket(0.0)
    assert all(bucket.take(share(0), 5.0) for _ in range(1000))


@given(
    burst=st.floats(0.1, 60),
    steps=st.lists(st.tuples(st.floats(0, 5), st.floats(0.001, 3)), max_size=60),
)
def test_a_bucket_gives_no_more_than_burst_and_time(
    burst: float, steps: list[tuple[float, float]]
) -> None:
    bucket = Bucket(burst)
    at = begin = 1000.0
    taken = 0.0
    for pause, cost in steps:
        at += pause
        if bucket.take(cost, at):
            taken += cost
        assert taken <= burst + (at - begin) + 1e-6


def test_each_key_has_its_own_bucket() -> None:
    buckets = KeyedBuckets(per_minute=3)
    assert [buckets.take("a", 0.0) for _ in range(3)] == [0, 0, 0]
    assert buckets.take("a", 0.0) == pytest.approx(20.0)
    assert buckets.take("b", 0.0) == 0
    assert buckets.take("a", 19.0) == pytest.approx(1.0)
    assert buckets.take("a", 20.0) == 0
    assert buckets.take("a", 20.0) > 0


def test_a_charge_is_taken_whether_it_is_there_or_not_but_is_no_debt() -> None:
    buckets = KeyedBuckets(per_minute=60)
    buckets.charge("a", 1000, 0.0)
    assert buckets.take("a", 0.0) == pytest.approx(1.0)
    assert buckets.take("a", 1.0) == 0


def test_charges_add_up() -> None:
    buckets = KeyedBuckets(per_minute=3)
    for _ in range(3):
        buckets.charge("a", 1, 0.0)
    assert buckets.take("a", 0.0) == pytest.approx(20.0)


def test_buckets_that_are_off_count_and_keep_nothing() -> None:
    buckets = KeyedBuckets(per_minute=0)
    assert all(buckets.take("a", 0.0) == 0 for _ in range(10_000))
    buckets.charge("a", 5, 0.0)
    assert len(buckets) == 0


def test_memory_is_bounded_and_the_longest_unseen_is_forgotten() -> None:
    buckets = KeyedBuckets(per_minute=1, max_keys=100)
    for number in range(100):
        assert buckets.take(str(number), 0.0) == 0
    buckets.charge("0", 1, 0.0)  # seen again
    for number in range(1_000, 1_050):
        buckets.take(str(number), 0.0)
    assert len(buckets) == 100
    assert buckets.take("0", 0.0) > 0
    assert buckets.take("1", 0.0) == 0
