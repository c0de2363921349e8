"""Who is connected from where, on an artificial clock."""

from __future__ import annotations

from vixio.transports.admission.addresses import Proxies
from vixio.transports.admission.connection_tracker import FLOOD_COSTS_CONNECTS, ConnectionTracker
from vixio.transports.admission.limits import Limits


class House:
    def __init__(self, **limits: float) -> None:
        self.at = 0.0
        self.tracker = ConnectionTracker(
            Limits(**limits),  # type: ignore[arg-type]  # counts are whole where it matters
            Proxies(["127.0.0.1"]),
            lambda: self.at,
        )

    def refused(self, peer: str, *forwarded: str) -> str:
        tracked = self.tracker.arrive(peer)
        self.tracker.announce(tracked, forwarded)
        return tracked.refusal.reason if tracked.refusal is not None else ""


def test_connections_of_an_address_are_bounded_until_one_leaves() -> None:
    house = House(connections_per_address=2)
    first = house.tracker.arrive("192.0.2.1")
    assert [house.refused("192.0.2.1") for _ in range(2)] == ["", "connections"]
    assert house.refused("192.0.2.2") == ""
    house.tracker.leave(first)
    house.tracker.leave(first)  # twice is once
    house.tracker.leave(house.tracker.arrive("192.0.2.1"))
    assert house.tracker.addresses == 2


def test_whoever_leaves_leaves_nothing() -> None:
    house = House()
    for peer in ("192.0.2.1", "127.0.0.1", "", "2001:db8::1", "192.0.2.1"):
        tracked = house.tracker.arrive(peer)
        house.tracker.announce(tracked, ["203.0.113.1"])
        house.tracker.leave(tracked)
    assert house.tracker.addresses == 0


def test_connects_of_an_address_are_bounded_in_time() -> None:
    house = House(connects_per_address=60)
    assert [house.refused("2001:db8::1") for _ in range(60)] == [""] * 60
    assert house.refused("2001:db8::ffff") == "connects"  # the same /64
    assert house.refused("2001:db8:0:1::1") == ""
    house.at = 1.0
    assert [house.refused("2001:db8::2") for _ in range(2)] == ["", "connects"]


def test_a_proxy_stands_for_whom_it_names() -> None:
    house = House(connects_per_address=1)
    assert [house.refused("127.0.0.1") for _ in range(9)] == [""] * 9
    assert house.refused("127.0.0.1", "203.0.113.1") == ""
    assert house.refused("127.0.0.1", "203.0.113.1") == "connects"
    assert house.refused("127.0.0.1", "203.0.113.2") == ""
    # Who is no proxy names nobody, and is counted once.
    assert house.refused("198.51.100.1", "203.0.113.3") == ""
    assert house.refused("127.0.0.1", "203.0.113.3") == ""


def test_a_device_is_bounded_by_itself_and_nobody_elsewhere_can_use_that_up() -> None:
    house = House(connects_per_device=2)
    here, there = house.tracker.arrive("192.0.2.1"), house.tracker.arrive("192.0.2.2")
    assert house.tracker.device(there, "aa") is None
    assert house.tracker.device(there, "aa") is None
    refusal = house.tracker.device(there, "aa")
    assert refusal is not None
    assert (refusal.status, refusal.headers) == (429, {"Retry-After": "30"})
    assert house.tracker.device(there, "bb") is None
    assert house.tracker.device(here, "aa") is None


def test_floods_use_up_the_connects_of_their_address() -> None:
    house = House(connects_per_address=3 * FLOOD_COSTS_CONNECTS)
    for _ in range(3):
        house.tracker.penalise(house.tracker.arrive("192.0.2.1"))
    assert house.refused("192.0.2.1") == "connects"
    assert house.refused("192.0.2.2") == ""
    house.tracker.penalise(house.tracker.arrive("127.0.0.1"))
    assert house.refused("127.0.0.1") == ""


def test_limits_that_are_off() -> None:
    house = House(connections_per_address=0, connects_per_address=0, connects_per_device=0)
    assert {house.refused("192.0.2.1") for _ in range(1_000)} == {""}
    tracked = house.tracker.arrive("192.0.2.1")
    assert all(house.tracker.device(tracked, "a") is None for _ in range(1_000))
