"""Counts and conversations of several workers."""

from __future__ import annotations

from vixio.cluster.workers.coordinator import HandoverStore, SharedCounters


def test_a_process_sees_what_the_others_have() -> None:
    counters = SharedCounters()
    assert counters.put(1, ("sockets", ""), 3)
    assert counters.put(2, ("sockets", ""), 4)
    assert not counters.put(2, ("sockets", ""), 4)
    assert counters.put(3, ("devices", "a"), 1)
    assert counters.others(1, ("sockets", "")) == 4
    assert counters.others(2, ("sockets", "")) == 3
    assert counters.others(3, ("sockets", "")) == 7
    assert dict(counters.seen_by(1)) == {("sockets", ""): 4, ("devices", "a"): 1}
    assert dict(counters.seen_by(3)) == {("sockets", ""): 7}
    assert counters.rows_of(3) == [("devices", "a")]


def test_zero_counts_are_removed() -> None:
    counters = SharedCounters()
    for number in range(100):
        counters.put(1, ("addresses", str(number)), 1)
        counters.put(1, ("addresses", str(number)), 0)
    assert not counters
    assert not counters.put(1, ("addresses", "never there"), 0)


def test_handovers_are_bounded_in_number_and_size() -> None:
    store = HandoverStore(max_devices=3, max_characters=100)
    for token, name in enumerate("abcd"):
        assert store.put(name, token, name * 10)
    assert [store.get(name) for name in "abcd"] == ["", "b" * 10, "c" * 10, "d" * 10]
    store.get("b")
    store.put("big", 4, "x" * 85)
    assert store.get("b") == "b" * 10  # it was used last
    assert store.get("c") == ""
    store.put("big", 4, "")
    assert store.characters == 10


def test_an_older_holder_cannot_replace_a_handover() -> None:
    store = HandoverStore()
    assert store.put("a", 2, "new")
    assert not store.put("a", 1, "old")
    assert store.get("a") == "new"
    assert store.put("a", 2, "newer")
    assert store.get("a") == "newer"
    assert store.characters == 5
