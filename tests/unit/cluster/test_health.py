"""The health of several processes as one server's."""

from __future__ import annotations

from vixio.cluster.health import merge_health


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
        "loop_lag_ms": 5.0,
        "capacity": 100,
        "counters": {"a": 1, "b": 2},
        "a2a": {"tasks": 2, "running": 0},
    }
    other = {**one, "worker": 1, "pid": 10, "status": "loading", "overloaded": False}
    other |= {"counters": {"b": 3}, "loop_lag_ms": 9.0, "a2a": {}}
    found = merge_health([one, other])
    assert found["status"] == "loading"
    assert found["sessions"] == 6
    assert found["addresses"] == 2
    assert found["loop_lag_ms"] == 9.0
    assert found["counters"] == {"a": 1, "b": 5}
    assert found["a2a"] == {"tasks": 2, "running": 0}
    assert not found["overloaded"]  # one of them still lets devices in
    assert [each["worker"] for each in found["workers"]] == [1, 2]
    assert "pid" not in found
    assert found["capacity"] == 200
    assert "capacity" not in merge_health([one, {**other, "capacity": 30}, {"worker": 3}])


def test_processes_are_listed_by_number_and_nodes_by_name() -> None:
    numbers = merge_health([{"worker": number} for number in (10, 2, 1)])
    assert [each["worker"] for each in numbers["workers"]] == [1, 2, 10]
    names = merge_health([{"worker": name} for name in ("vixio-3", "vixio-1", "vixio-2")])
    assert [each["worker"] for each in names["workers"]] == ["vixio-1", "vixio-2", "vixio-3"]
