"""Counts of several processes, as each of them sees the others."""

from __future__ import annotations

from vixio.cluster.workers.counters import SharedCounters
from vixio.cluster.workers.handovers import HandoverStore
from vixio.cluster.workers.health import merge_health


def test_a_process_sees_what_the_others_have() -> None:
    tables = SharedCounters()
    assert tables.put(1, ("sockets", ""), 3)
    assert tables.put(2, ("sockets", ""), 4)
    assert not tables.put(2, ("sockets", ""), 4)
    assert tables.put(3, ("devices", "a"), 1)
    assert tables.others(1, ("sockets", "")) == 4
    assert tables.others(2, ("sockets", "")) == 3
    assert tables.others(3, ("sockets", "")) == 7
    assert dict(tables.seen_by(1)) == {("sockets", ""): 4, ("devices", "a"): 1}
    assert dict(tables.seen_by(3)) == {("sockets", ""): 7}
    assert tables.rows_of(3) == [("devices", "a")]


def test_what_nobody_has_is_not_kept() -> None:
    tables = SharedCounters()
    for number in range(100):
        tables.put(1, ("addresses", str(number)), 1)
        tables.put(1, ("addresses", str(number)), 0)
    assert not tables._rows
    assert not tables.put(1, ("addresses", "never there"), 0)


def test_memories_are_bounded_in_number_and_size() -> None:
    memories = HandoverStore(max_devices=3, max_characters=100)
    for name in "abcd":
        memories.put(name, name * 10)
    assert [memories.get(name) for name in "abcd"] == ["", "b" * 10, "c" * 10, "d" * 10]
    memories.get("b")
    memories.put("big", "x" * 85)
    assert memories.get("b") == "b" * 10  # it was asked for last
    assert memories.get("c") == ""
    memories.put("big", "")
    assert memories._characters == 10


def test_healths_are_put_together() -> None:
    one = {
        "worker": 2,
        "pid": 20,
        "status": "ok",
        "version": "1",
        "sessions": 3,
        "connected": 3,
        "handshakes": 1,
        "addresses": 2,
        "overloaded": True,
        "loop_lag_p95_ms": 5.0,
        "counters": {"a": 1, "b": 2},
    }
    other = {**one, "worker": 1, "pid": 10, "status": "loading", "overloaded": False}
    other |= {"counters": {"b": 3}, "loop_lag_p95_ms": 9.0}
    found = merge_health([one, other])
    assert found["status"] == "loading"
    assert found["sessions"] == 6
    assert found["addresses"] == 2
    assert found["loop_lag_p95_ms"] == 9.0
    assert found["counters"] == {"a": 1, "b": 5}
    assert not found["overloaded"]  # one of them still lets devices in
    assert [each["worker"] for each in found["workers"]] == [1, 2]
    assert "pid" not in found
