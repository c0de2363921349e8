"""Who is connected from where, on an artificial clock."""

from __future__ import annotations

from vixio.transports.xiaozhi.addresses import Proxies
from vixio.transports.xiaozhi.limits import Limits
from vixio.transports.xiaozhi.visitors import FLOOD_COSTS_CONNECTS, Visitors


class House:
    def __init__(self, **limits: float) -> None:
        self.at = 0.0
        self.visitors = Visitors(
            Limits(**limits),  # type: ignore[arg-type]  # counts are whole where it matters
            Proxies(["127.0.0.1"]),
            lambda: self.at,
        )

    def refused(self, peer: str, *forwarded: str) -> str:
        visit = self.visitors.arrive(peer)
        self.visitors.announce(visit, forwarded)
        return visit.refusal.reason if visit.refusal is not None else ""


def test_connections_of_an_address_are_bounded_until_one_leaves() -> None:
    house = House(connections_per_address=2)
    first = house.visitors.arrive("192.0.2.1")
    assert [house.refused("192.0.2.1") for _ in range(2)] == ["", "connections"]
    assert house.refused("192.0.2.2") == ""
    house.visitors.leave(first)
    house.visitors.leave(first)  # twice is once
    house.visitors.leave(house.visitors.arrive("192.0.2.1"))
    assert house.visitors.addresses == 2


def test_whoever_leaves_leaves_nothing() -> None:
    house = House()
    for peer in ("192.0.2.1", "127.0.0.1", "", "2001:db8::1", "192.0.2.1"):
        visit = house.visitors.arrive(peer)
        house.visitors.announce(visit, ["203.0.113.1"])
        house.visitors.leave(visit)
    assert house.visitors.addresses == 0


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
    here, there = house.visitors.arrive("192.0.2.1"), house.visitors.arrive("192.0.2.2")
    assert house.visitors.device(there, "aa") is None
    assert house.visitors.device(there, "aa") is None
    refusal = house.visitors.device(there, "aa")
    assert refusal is not None
    assert (refusal.status, refusal.headers) == (429, {"Retry-After": "30"})
    assert house.visitors.device(there, "bb") is None
    assert house.visitors.device(here, "aa") is None


def test_floods_use_up_the_connects_of_their_address() -> None:
    house = House(connects_per_address=3 * FLOOD_COSTS_CONNECTS)
    for _ in range(3):
        house.visitors.penalise(house.visitors.arrive("192.0.2.1"))
    assert house.refused("192.0.2.1") == "connects"
    assert house.refused("192.0.2.2") == ""
    house.visitors.penalise(house.visitors.arrive("127.0.0.1"))
    assert house.refused("127.0.0.1") == ""


def test_limits_that_are_off() -> None:
    house = House(connections_per_address=0, connects_per_address=0, connects_per_device=0)
    assert {house.refused("192.0.2.1") for _ in range(1_000)} == {""}
    visit = house.visitors.arrive("192.0.2.1")
    assert all(house.visitors.device(visit, "a") is None for _ in range(1_000))
