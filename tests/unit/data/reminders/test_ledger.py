"""The steps of a delivery, on each database, with processes that end at any of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import time

import pytest

from tests.support.registry_databases import Make, make, postgres_url
from vixio.core.session.speech import Priority
from vixio.data.database.audit import AuditTable
from vixio.data.database.database import Database
from vixio.data.reminders import ledger
from vixio.data.reminders.ledger import ATTEMPTS, CLAIM_MS, KEEP_MS, RETRY_MS, SPEAKING_MS
from vixio.data.reminders.records import ASKED, Delivery, Kind, Order, ReminderError, State
from vixio.data.reminders.repository import HOUR_MS, Limits, ReminderRepository
from vixio.data.reminders.schedule import Rule

__all__ = ["make", "postgres_url"]

NOW = 1_800_000_000_000
KITCHEN, HALL = "aa:aa:aa:aa:aa:01", "aa:aa:aa:aa:aa:02"


class Clock:
    """A wall clock that a test sets."""

    def __init__(self) -> None:
        self.ms = NOW

    def __call__(self) -> int:
        return self.ms


@pytest.fixture
async def database(make: Make) -> AsyncIterator[Database]:
    """Give an open, empty database."""
    opened = make()
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def clock() -> Clock:
    """Give a clock."""
    return Clock()


@pytest.fixture
def repository(database: Database, clock: Clock) -> ReminderRepository:
    """Give the operations."""
    return ReminderRepository(database, Limits(per_device=5), clock)


def order(device: str = KITCHEN, kind: Kind = Kind.REMINDER, **more: object) -> Order:
    """Return an order that is due now."""
    values: dict[str, object] = {"due_at": NOW, "text": "tea", **more}
    return Order(kind=kind, device_id=device, **values)  # type: ignore[arg-type]


async def state(repository: ReminderRepository, delivery: Delivery) -> State:
    """Return the state of a delivery now."""
    return (await repository.delivery(delivery.id)).state


async def test_from_the_order_to_the_record(
    database: Database, repository: ReminderRepository
) -> None:
    wanted = await repository.add(order(due_at=NOW + 10_000, created_by="device:x"))
    looked = await ledger.look(database, NOW)
    assert (looked.due, looked.next_at) == ({}, NOW + 10_000)
    now = NOW + 10_000
    looked = await ledger.look(database, now)
    assert list(looked.due) == [KITCHEN]
    assert looked.next_at == wanted.expires_at
    (claimed,) = await ledger.claim(database, KITCHEN, "one", now)
    assert (claimed.id, claimed.state) == (wanted.id, State.CLAIMED)
    assert (await ledger.look(database, now)).due == {}
    assert await ledger.begin(database, KITCHEN, "one", [wanted.id], now)
    assert await state(repository, wanted) is State.SPEAKING
    heard = {wanted.id: "Reminder: tea"}
    (ended,) = await ledger.end(database, KITCHEN, "one", heard, now + 1)
    assert (ended.delivery.id, ended.state) == (wanted.id, State.DELIVERED)
    found = await repository.delivery(wanted.id)
    assert (found.state, found.heard, found.ended_at) == (
        State.DELIVERED,
        "Reminder: tea",
        now + 1,
    )
    assert await ledger.look(database, now + HOUR_MS) == ledger.Look({}, None)
    assert await repository.deliveries() == []
    assert [each.id for each in await repository.deliveries(over=True)] == [wanted.id]


async def test_two_processes_claim_one_delivery_once(make: Make) -> None:
    databases = [make() for _ in range(3)]
    for each in databases:
        await each.open()
    repository = ReminderRepository(databases[0], clock=Clock())
    for _ in range(20):
        wanted = await repository.add(order())
        claims = await asyncio.gather(
            *(
                asyncio.to_thread(asyncio.run, _opened_claim(make(), f"{wanted.id}-{number}"))
                for number in range(3)
            )
        )
        assert sorted(map(len, claims)) == [0, 0, 1]
        (owner,) = (claim[0].owner for claim in claims if claim)
        await ledger.end(databases[1], KITCHEN, owner, {wanted.id: "tea"}, NOW)
    for each in databases:
        await each.close()


async def _opened_claim(database: Database, owner: str) -> list[Delivery]:
    """Claim as another process would: in a thread and by a connection of its own."""
    await database.open()
    try:
        return list(await ledger.claim(database, KITCHEN, owner, NOW))
    finally:
        await database.close()


async def test_a_process_that_ends_before_the_first_sound_leaves_it_to_others(
    database: Database, repository: ReminderRepository
) -> None:
    wanted = await repository.add(order())
    await ledger.claim(database, KITCHEN, "killed", NOW)
    assert not await ledger.claim(database, KITCHEN, "other", NOW + CLAIM_MS - 1)
    later = NOW + CLAIM_MS
    assert (await ledger.look(database, NOW)).next_at == later
    assert list((await ledger.look(database, later)).due) == [KITCHEN]
    assert await ledger.claim(database, KITCHEN, "other", later)
    # The first one was only slow: it is fenced off.
    assert not await ledger.begin(database, KITCHEN, "killed", [wanted.id], later)
    await ledger.end(database, KITCHEN, "killed", {}, later)
    assert await ledger.begin(database, KITCHEN, "other", [wanted.id], later)


async def test_a_process_that_ends_while_it_speaks_is_not_repeated(
    database: Database, repository: ReminderRepository
) -> None:
    wanted = await repository.add(order())
    await ledger.claim(database, KITCHEN, "killed", NOW)
    assert await ledger.begin(database, KITCHEN, "killed", [wanted.id], NOW)
    looked = await ledger.look(database, NOW)
    assert (looked.due, looked.next_at) == ({}, NOW + SPEAKING_MS)
    assert not await ledger.claim(database, KITCHEN, "other", NOW + SPEAKING_MS)
    looked = await ledger.look(database, NOW + SPEAKING_MS)
    assert (looked.due, looked.next_at) == ({}, None)
    assert await state(repository, wanted) is State.UNKNOWN


async def test_it_expires_with_a_record(database: Database, repository: ReminderRepository) -> None:
    wanted = await repository.add(order(expires_ms=1_000))
    assert list((await ledger.look(database, NOW + 999)).due) == [KITCHEN]
    looked = await ledger.look(database, NOW + 1_000)
    assert looked.due == {}
    assert [(each.delivery.id, each.state) for each in looked.ended] == [(wanted.id, State.EXPIRED)]
    assert not (await ledger.look(database, NOW + 1_001)).ended, "it is told once"
    found = await repository.delivery(wanted.id)
    assert (found.state, found.ended_at) == (State.EXPIRED, NOW + 1_000)
    assert found.reason == "it could not be said in time"
    assert not await ledger.claim(database, KITCHEN, "one", NOW + 1_000)


async def test_what_is_cancelled_is_not_said(
    database: Database, repository: ReminderRepository
) -> None:
    first, second = await repository.add(order()), await repository.add(order())
    await repository.cancel(first.id, "me")
    claimed = await ledger.claim(database, KITCHEN, "one", NOW)
    assert [each.id for each in claimed] == [second.id]
    await repository.cancel(second.id, "me")  # between the words and the first sound
    assert not await ledger.begin(database, KITCHEN, "one", [second.id], NOW)
    await ledger.end(database, KITCHEN, "one", {}, NOW)
    assert await state(repository, second) is State.CANCELLED
    with pytest.raises(ReminderError, match="it is cancelled"):
        await repository.cancel(first.id, "me")
    with pytest.raises(ReminderError, match="nothing with the id"):
        await repository.cancel("nothing", "me")


async def test_operators_leave_a_trail_and_users_do_not(
    database: Database, repository: ReminderRepository
) -> None:
    by_command = await repository.add(order(created_by="command:ann"))
    by_voice = await repository.add(order(created_by=f"device:{KITCHEN}"))
    orders = [order(device, Kind.ANNOUNCEMENT, created_by="api:x") for device in (KITCHEN, HALL)]
    announced = await repository.announce(orders)
    await repository.cancel(by_command.id, f"device:{KITCHEN}")
    await repository.cancel(by_voice.id, "command:ann")
    assert [(each.action, each.delivery.id) for each in repository.changes] == [
        ("set", by_voice.id),
        ("cancelled", by_command.id),
    ]
    async with database.transaction(write=False) as transaction:
        changes = await AuditTable(transaction).since(0)
    assert [(each.actor, each.action, each.target) for each in changes] == [
        ("command:ann", "set", f"reminder:{by_command.id}"),
        ("api:x", "set", f"reminder:{announced[0].series}"),
        ("command:ann", "cancelled", f"reminder:{by_voice.id}"),
    ]
    details = [json.loads(each.detail) for each in changes]
    assert details[0] == {"kind": "reminder", "device": KITCHEN}
    assert details[1] == {"kind": "announcement", "devices": 2}


async def test_what_is_being_said_cannot_be_cancelled(
    database: Database, repository: ReminderRepository
) -> None:
    wanted = await repository.add(order())
    await ledger.claim(database, KITCHEN, "one", NOW)
    await ledger.begin(database, KITCHEN, "one", [wanted.id], NOW)
    with pytest.raises(ReminderError, match="it is speaking"):
        await repository.cancel(wanted.id, "me")


async def test_the_important_goes_first_and_only_so_many_at_once(
    database: Database, clock: Clock
) -> None:
    repository = ReminderRepository(database, clock=clock)
    for number in range(10):
        await repository.add(order(text=str(number), due_at=NOW - number))
    urgent = await repository.add(order(text="fire", priority=Priority.HIGH))
    assert (await ledger.look(database, NOW)).due[KITCHEN][0].priority is Priority.HIGH
    claimed = await ledger.claim(database, KITCHEN, "one", NOW)
    assert [each.text for each in claimed] == ["fire", *"9876543"]
    rest = await ledger.claim(database, KITCHEN, "two", NOW)
    assert [each.text for each in rest] == ["2", "1", "0"]
    assert claimed[0].id == urgent.id


async def test_a_speech_that_was_not_heard_is_tried_again_and_fails_at_last(
    database: Database, repository: ReminderRepository
) -> None:
    wanted = await repository.add(order())
    now = NOW
    await ledger.claim(database, KITCHEN, "gone", now)
    await ledger.end(database, KITCHEN, "gone", {}, now)  # the device has left: no attempt
    for number in range(ATTEMPTS):
        assert await ledger.claim(database, KITCHEN, str(number), now)
        await ledger.end(database, KITCHEN, str(number), {}, now, "speech failed")
        assert not await ledger.claim(database, KITCHEN, "early", now)
        now += RETRY_MS
    found = await repository.delivery(wanted.id)
    assert (found.state, found.reason) == (State.FAILED, "speech failed")


async def test_a_repeated_one_has_its_next_whatever_becomes_of_it(
    database: Database, repository: ReminderRepository
) -> None:
    rule = Rule(time(7, 0), zone="Europe/Berlin")
    due = rule.next(NOW)
    heard = await repository.add(order(kind=Kind.ALARM, due_at=due, rule=rule))
    await ledger.claim(database, KITCHEN, "one", due)
    await ledger.begin(database, KITCHEN, "one", [heard.id], due)
    await ledger.begin(database, KITCHEN, "one", [heard.id], due)  # the user spoke first
    (again,) = (each for each in await repository.deliveries() if each.state is State.PENDING)
    assert (again.due_at, again.series) == (rule.next(due), heard.id)
    await ledger.end(database, KITCHEN, "one", {heard.id: "7"}, due)

    late = again.expires_at + 3 * 24 * HOUR_MS  # the server was off for days
    assert (await ledger.look(database, late)).due == {}
    assert await state(repository, again) is State.EXPIRED
    (third,) = await repository.deliveries()
    assert third.due_at == rule.next(late)
    assert third.expires_at - third.due_at == HOUR_MS

    await repository.cancel(third.id, "me")
    await ledger.look(database, third.expires_at)
    assert await repository.deliveries() == []


async def test_a_device_has_only_so_much(repository: ReminderRepository) -> None:
    for _ in range(5):
        await repository.add(order())
    with pytest.raises(ReminderError, match="5 things wait"):
        await repository.add(order())
    added = await repository.announce(
        [order(HALL, Kind.ANNOUNCEMENT), order(kind=Kind.ANNOUNCEMENT)]
    )
    assert [each.device_id for each in added] == [HALL]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"text": "x" * 501}, "at most"),
        ({"text": "a\x07b"}, "control characters"),
        ({"kind": Kind.MESSAGE, "text": " "}, "nothing to say"),
        ({"due_at": NOW - 2 * HOUR_MS}, "in the past"),
        ({"due_at": NOW + 6 * 366 * 24 * HOUR_MS}, "five years"),
    ],
)
async def test_an_order_that_cannot_be_followed(
    repository: ReminderRepository, wrong: dict[str, object], why: str
) -> None:
    with pytest.raises(ReminderError, match=why):
        await repository.add(order(**wrong))  # type: ignore[arg-type]


async def test_records_are_kept_for_a_while(
    database: Database, repository: ReminderRepository
) -> None:
    first = await repository.add(order(expires_ms=1))
    await ledger.look(database, NOW + 10)
    assert await state(repository, first) is State.EXPIRED
    await repository.add(order(HALL, expires_ms=1))
    await ledger.look(database, NOW + 20 + KEEP_MS)
    assert [each.device_id for each in await repository.deliveries(over=True)] == [HALL]


async def test_the_devices_of_an_announcement_are_one_series(
    repository: ReminderRepository,
) -> None:
    added = await repository.announce([order(each, Kind.ANNOUNCEMENT) for each in (KITCHEN, HALL)])
    found = await repository.deliveries(series=added[0].series)
    assert {each.device_id for each in found} == {KITCHEN, HALL}


async def test_what_was_shown_is_said_at_the_next_contact_alone(
    database: Database, repository: ReminderRepository
) -> None:
    rule = Rule(time(9), zone="UTC")
    wanted = await repository.add(order(rule=rule))
    assert len(await ledger.claim(database, KITCHEN, "p1", NOW, again=False)) == 1
    (shown,) = await ledger.end(database, KITCHEN, "p1", {}, NOW + 5, shown=True)
    assert shown.state is State.PENDING
    found = await repository.delivery(wanted.id)
    assert (found.state, found.shown_at, found.attempts) == (State.PENDING, NOW + 5, 0)
    (due,) = (await ledger.look(database, NOW + 6)).due[KITCHEN]
    assert (due.shown, due.asked) == (True, True)
    assert not await ledger.claim(database, KITCHEN, "p2", NOW + 6, again=False)
    assert len(await ledger.claim(database, KITCHEN, "p2", NOW + 6)) == 1
    assert await ledger.begin(database, KITCHEN, "p2", [wanted.id], NOW + 6)
    await ledger.end(database, KITCHEN, "p2", {wanted.id: "tea"}, NOW + 7)
    assert (await repository.delivery(wanted.id)).shown_at == NOW + 5
    (later,) = await repository.deliveries(KITCHEN)
    assert later.shown_at is None, "the next one is not shown yet"


async def test_in_quiet_hours_what_was_set_for_that_time_and_what_is_urgent(
    database: Database, repository: ReminderRepository
) -> None:
    asked = [await repository.add(order(kind=kind)) for kind in ASKED]
    await repository.add(order(kind=Kind.MESSAGE))
    urgent = await repository.add(order(kind=Kind.ANNOUNCEMENT, priority=Priority.HIGH))
    dues = (await ledger.look(database, NOW)).due[KITCHEN]
    assert sorted((due.asked, due.priority) for due in dues) == [
        (False, Priority.NORMAL),
        (True, Priority.HIGH),
    ]
    claimed = await ledger.claim(database, KITCHEN, "p1", NOW, quiet=True)
    assert {each.id for each in claimed} == {each.id for each in (*asked, urgent)}
    assert claimed[0].id == urgent.id
