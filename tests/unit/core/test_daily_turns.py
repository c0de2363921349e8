"""The turns of a day: counted by device, for all processes, until midnight of the time zone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from vixio.core.cluster import Charged
from vixio.core.daily_turns import MAX_DEVICES, DailyTurns
from vixio.core.local_cluster import LocalLimits

KITCHEN, BATH = "02:00:00:00:00:01", "02:00:00:00:00:02"


class Clock:
    """A wall clock that is set."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 31, 22, 30, tzinfo=UTC)

    def __call__(self, zone: tzinfo | None) -> datetime:
        return self.now.astimezone(zone)


class Store:
    """Notes what it is told, and answers when it is asked to."""

    def __init__(self, turns: int = 0) -> None:
        self.turns = turns
        self.added: list[tuple[str, str]] = []
        self.asked: list[tuple[str, str, Callable[[int], None]]] = []

    def add(self, device_id: str, day: str) -> None:
        self.added.append((device_id, day))

    def load(self, device_id: str, day: str, loaded: Callable[[int], None]) -> None:
        self.asked.append((device_id, day, loaded))

    def answer(self) -> None:
        for _, _, loaded in self.asked:
            loaded(self.turns)

    async def close(self) -> None:
        pass


class Limits(LocalLimits):
    """Keeps what is charged, and who listens."""

    def __init__(self) -> None:
        self.charges: list[tuple[str, str, int]] = []
        self.listener: Charged | None = None

    def charge(self, name: str, key: str, amount: int = 1) -> None:
        self.charges.append((name, key, amount))

    def on_charge(self, name: str, charged: Charged) -> None:
        self.listener = charged


def test_each_device_has_its_turns() -> None:
    daily = DailyTurns(clock=Clock())
    assert [daily.take(KITCHEN, 2) for _ in range(4)] == [True, True, False, False]
    assert daily.take(BATH, 2)
    assert daily.take(KITCHEN, 3), "the limit was raised"
    assert all(daily.take(KITCHEN, 0) for _ in range(10)), "no limit"


def test_a_day_ends_at_midnight_of_the_zone() -> None:
    clock, zone = Clock(), ZoneInfo("Europe/Berlin")
    daily = DailyTurns(zone=lambda: zone, clock=clock)
    assert daily.take(KITCHEN, 1)
    clock.now += timedelta(minutes=29)
    assert not daily.take(KITCHEN, 1)
    clock.now += timedelta(minutes=2)
    assert daily.take(KITCHEN, 1)


def test_turns_of_other_processes_count() -> None:
    limits = Limits()
    daily = DailyTurns(limits, clock=Clock())
    assert daily.take(KITCHEN, 3)
    assert limits.charges == [("daily_turns", KITCHEN, 1)]
    assert limits.listener is not None
    limits.listener(KITCHEN, 2)
    assert not daily.take(KITCHEN, 3)
    assert len(limits.charges) == 1


def test_what_the_store_knows_counts_when_it_comes() -> None:
    clock, store = Clock(), Store(turns=5)
    daily = DailyTurns(store=store, clock=clock)
    daily.expect(KITCHEN)
    assert daily.take(KITCHEN, 5), "nothing waits for the store"
    assert store.added == [(KITCHEN, "2026-01-31")]
    store.answer()
    assert not daily.take(KITCHEN, 5)
    store.turns = 2
    store.answer()
    assert not daily.take(KITCHEN, 5), "less than is known changes nothing"
    clock.now += timedelta(days=1)
    store.turns = 9
    store.answer()
    assert daily.take(KITCHEN, 5), "that was yesterday"


def test_the_memory_is_bounded() -> None:
    daily = DailyTurns(clock=Clock())
    for number in range(MAX_DEVICES + 1):
        daily.take(str(number), 1)
    assert daily.take("0", 1), "the first one is forgotten"
    assert not daily.take(str(MAX_DEVICES), 1)
