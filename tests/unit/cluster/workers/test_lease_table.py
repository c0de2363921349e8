"""Tokens, releases and renewals in the lease table."""

from __future__ import annotations

from vixio.cluster.workers.lease_table import MISSED_RENEWALS, LeaseTable


def test_tokens_rise_and_only_the_current_one_counts() -> None:
    table = LeaseTable()
    first = table.grant("a", 1)
    assert table.holds("a", first.token)
    second = table.grant("a", 2)
    assert second.token > first.token
    assert not table.holds("a", first.token)
    assert not table.release("a", first.token)
    assert table.holder("a") == second
    assert table.release("a", second.token)
    assert table.holder("a") is None
    assert table.grant("a", 1).token > second.token


def test_a_worker_that_is_gone_has_nothing() -> None:
    table = LeaseTable()
    table.grant("a", 1)
    table.grant("b", 1)
    kept = table.grant("a", 2)
    assert set(table.drop(1)) == {"b"}
    assert table.devices() == {"a": 2}
    assert table.holder("a") == kept
    assert table.drop(1) == {}


def test_renewals_are_counted() -> None:
    table = LeaseTable()
    table.renew(1)
    table.renew(2)
    for _ in range(MISSED_RENEWALS):
        assert table.tick() == []
        table.renew(2)
    assert table.tick() == [1]
    table.drop(1)
    assert table.tick() == []
    table.renew(1)
    assert table.tick() == []
