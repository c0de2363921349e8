"""Who is let in after an overload, with a made-up clock."""

from __future__ import annotations

from vixio.transports.admission.learned_limit import OVER_S, LearnedLimit


class House:
    """``connected`` devices inside, and a crowd at the door that tries each tenth of a second."""

    def __init__(self, connected: int) -> None:
        self.connected = connected
        self.late_at: float | None = None
        self.now = 0.0
        self.limit = LearnedLimit(lambda: self.late_at, lambda: self.connected, lambda: self.now)

    def let_in(self, seconds: float) -> int:
        """Return how many are connected after ``seconds``."""
        until = self.now + seconds
        while self.now < until:
            self.now += 0.1
            while self.connected < 5_000 and not self.limit.full:
                self.connected += 1
        return self.connected


def test_all_may_come_while_there_was_no_overload() -> None:
    assert House(0).let_in(0.1) == 5_000


def test_after_an_overload_nobody_comes_for_a_while_and_then_few() -> None:
    house = House(500)
    house.late_at = 0.0
    assert house.let_in(30.0) == 500
    assert 500 < house.let_in(30.0) <= 520


def test_who_leaves_makes_room() -> None:
    house = House(500)
    house.late_at = 0.0
    assert house.let_in(1.0) == 500
    house.connected = 400
    assert house.let_in(1.0) in (475, 476, 477)


def test_the_next_overload_begins_it_anew() -> None:
    house = House(500)
    house.late_at = 0.0
    more = house.let_in(100.0)
    house.late_at = house.now
    assert house.let_in(20.0) == more > 500


def test_few_devices_are_let_in_again_soon() -> None:
    house = House(2)
    house.late_at = 0.0
    assert house.let_in(30.0) >= 7


def test_it_is_forgotten() -> None:
    house = House(500)
    house.late_at, house.now = 0.0, OVER_S
    assert house.let_in(0.1) == 5_000
