"""The limits of addresses, on an artificial clock."""

from __future__ import annotations

from vixio.transports.admission.addresses import Proxies
from vixio.transports.admission.connection_tracker import FLOOD_COSTS_CONNECTS, ConnectionTracker
from vixio.transports.admission.limits import Limits


class Port:
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
    port = Port(connections_per_address=2)
    first = port.tracker.arrive("192.0.2.1")
    assert [port.refused("192.0.2.1") for _ in range(2)] == ["", "connections"]
    assert port.refused("192.0.2.2") == ""
    port.tracker.leave(first)
    port.tracker.leave(first)  # idempotent
    port.tracker.leave(port.tracker.arrive("192.0.2.1"))
    assert port.tracker.addresses == 2


def test_closed_connections_leave_no_entry() -> None:
    port = Port()
    for peer in ("192.0.2.1", "127.0.0.1", "", "2001:db8::1", "192.0.2.1"):
        tracked = port.tracker.arrive(peer)
        port.tracker.announce(tracked, ["203.0.113.1"])
        port.tracker.leave(tracked)
    assert port.tracker.addresses == 0


def test_connects_of_an_address_are_bounded_in_time() -> None:
    port = Port(connects_per_address=60)
    assert [port.refused("2001:db8::1") for _ in range(60)] == [""] * 60
    assert port.refused("2001:db8::ffff") == "connects"  # the same /64
    assert port.refused("2001:db8:0:1::1") == ""
    port.at = 1.0
    assert [port.refused("2001:db8::2") for _ in range(2)] == ["", "connects"]


def test_a_proxy_counts_as_the_client_it_names() -> None:
    port = Port(connects_per_address=1)
    assert [port.refused("127.0.0.1") for _ in range(9)] == [""] * 9
    assert port.refused("127.0.0.1", "203.0.113.1") == ""
    assert port.refused("127.0.0.1", "203.0.113.1") == "connects"
    assert port.refused("127.0.0.1", "203.0.113.2") == ""
    # Only a proxy can name a client; others count under their own address.
    assert port.refused("198.51.100.1", "203.0.113.3") == ""
    assert port.refused("127.0.0.1", "203.0.113.3") == ""


def test_a_devices_connects_cannot_be_used_up_from_another_address() -> None:
    port = Port(connects_per_device=2)
    here, there = port.tracker.arrive("192.0.2.1"), port.tracker.arrive("192.0.2.2")
    assert port.tracker.device(there, "aa") is None
    assert port.tracker.device(there, "aa") is None
    refusal = port.tracker.device(there, "aa")
    assert refusal is not None
    assert (refusal.status, refusal.headers) == (429, {"Retry-After": "30"})
    assert port.tracker.device(there, "bb") is None
    assert port.tracker.device(here, "aa") is None


def test_floods_use_up_the_connects_of_their_address() -> None:
    port = Port(connects_per_address=3 * FLOOD_COSTS_CONNECTS)
    for _ in range(3):
        port.tracker.penalise(port.tracker.arrive("192.0.2.1"))
    assert port.refused("192.0.2.1") == "connects"
    assert port.refused("192.0.2.2") == ""
    port.tracker.penalise(port.tracker.arrive("127.0.0.1"))
    assert port.refused("127.0.0.1") == ""


def test_limits_that_are_off() -> None:
    port = Port(connections_per_address=0, connects_per_address=0, connects_per_device=0)
    assert {port.refused("192.0.2.1") for _ in range(1_000)} == {""}
    tracked = port.tracker.arrive("192.0.2.1")
    assert all(port.tracker.device(tracked, "a") is None for _ in range(1_000))
