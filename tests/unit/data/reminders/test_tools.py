"""The tools of the agent: what they set, and what they answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from vixio.core.errors import ToolError
from vixio.core.tools.context import ToolContext
from vixio.data.database.database import Database
from vixio.data.database.link import Link
from vixio.data.database.sqlite import SQLiteDatabase
from vixio.data.reminders.names import Listener, Listeners
from vixio.data.reminders.records import Delivery, Kind, ReminderError
from vixio.data.reminders.repository import Limits, ReminderRepository
from vixio.data.reminders.service import ReminderService, RemindersUnavailable
from vixio.data.reminders.tools import reminder_source
from vixio.data.reminders.words import duration, parts

NOW = round(datetime(2026, 11, 20, 12, tzinfo=UTC).timestamp() * 1000)  # a Friday, 13:00 in Berlin
KITCHEN, HALL, LOFT, STRANGER = "k", "h", "l", "s"


DEVICES = (
    Listener(KITCHEN, "Kitchen", connected=True),
    Listener(HALL, "Hall", "the hall", connected=True),
    Listener(LOFT, "", "the loft", "Anna"),
    Listener(STRANGER),
)
"""The loft is not connected, and the stranger has no name."""


def house() -> Listeners:
    return Listeners(lambda: DEVICES, {each.device_id: each for each in DEVICES}.get)


class Tools:
    """The tools, called as a model calls them."""

    def __init__(self, service: ReminderService) -> None:
        self.service = service
        self._tools = {tool.name: tool for tool in reminder_source(service, house()).tools()}

    async def __call__(
        self, name: str, device: str = KITCHEN, language: str = "en", **arguments: object
    ) -> dict[str, Any]:
        caller = self._tools[name].caller
        assert caller is not None
        context = ToolContext(device_id=device, language=language)
        result = await caller.call_tool(name, arguments, context=context)
        answer: dict[str, Any] = json.loads(result.result or "")
        return answer

    async def deliveries(self, device: str = "") -> list[Delivery]:
        return await self.service.with_repository(lambda repository: repository.deliveries(device))


@pytest.fixture
async def tools() -> AsyncIterator[Tools]:
    """Give the tools over an empty database."""
    link: Link[Database] = Link(lambda: SQLiteDatabase(None), name="test-reminders")
    yield Tools(ReminderService(link, Limits(), "Europe/Berlin", lambda: NOW))
    await link.close()


async def test_a_timer(tools: Tools) -> None:
    answer = await tools("set_timer", hours=1, minutes=30, label="stew")
    assert answer["seconds_left"] == 5400
    assert answer["spoken"] == "Okay, a timer for 1 hour and 30 minutes."
    (timer,) = await tools.deliveries(KITCHEN)
    assert (timer.kind, timer.due_at, timer.text) == (Kind.TIMER, NOW + 5_400_000, "stew")
    with pytest.raises(ToolError, match="more than none"):
        await tools("set_timer")
    with pytest.raises(ToolError, match="no device here"):
        await tools("set_timer", device="chat", minutes=1)


async def test_what_cannot_be_stored_is_an_answer(tools: Tools) -> None:
    async def break_it(repository: ReminderRepository) -> None:
        raise OverflowError("a number beyond all")

    with pytest.raises(ReminderError, match="other words") as refused:
        await tools.service.with_repository(break_it)
    assert not isinstance(refused.value, RemindersUnavailable)
    await tools("set_timer", minutes=5)
    assert len(await tools.deliveries()) == 1


@pytest.mark.parametrize(
    ("arguments", "at", "repeats"),
    [
        ({"minutes": 10}, "2026-11-20 13:10+01:00", ""),
        ({"at": "18:00"}, "2026-11-20 18:00+01:00", ""),
        ({"at": "08:00"}, "2026-11-21 08:00+01:00", ""),
        ({"at": "18:00", "day": "2026-12-24"}, "2026-12-24 18:00+01:00", ""),
        ({"at": "08:00", "days": ["weekdays"]}, "2026-11-23 08:00+01:00", "mon,tue,wed,thu,fri"),
        ({"at": "08:00", "days": ["sun", "wed"]}, "2026-11-22 08:00+01:00", "wed,sun"),
    ],
)
async def test_a_reminder(tools: Tools, arguments: dict[str, Any], at: str, repeats: str) -> None:
    answer = await tools("set_reminder", text="call Ann", **arguments)
    assert answer["at"] == at
    assert answer.get("repeats", "").partition(" ")[2] == repeats


@pytest.mark.parametrize(
    "wrong", [{"at": "soon"}, {"at": "12:00", "day": "2026-11-19"}, {"at": "1:00", "days": ["x"]}]
)
async def test_a_time_that_is_none(tools: Tools, wrong: dict[str, Any]) -> None:
    with pytest.raises(ToolError):
        await tools("set_reminder", **wrong)
    assert await tools.deliveries() == []


async def test_an_alarm_on_a_clock_of_twelve_hours(tools: Tools) -> None:
    for hour, half, at in ((7, "am", "07:00"), (7, "pm", "19:00"), (12, "am", "00:00")):
        assert f" {at}+" in (await tools("set_alarm", hour=hour, half=half))["at"]


async def test_the_second_one_is_that_of_the_list_that_was_told(tools: Tools) -> None:
    await tools("set_reminder", text="first of all", minutes=1)
    for minutes in (5, 10, 20):
        await tools("set_timer", minutes=minutes)
    await tools("set_timer", device=HALL, minutes=3)
    listed = await tools("list_timers", kind="timer")
    assert [each["seconds_left"] for each in listed["set"]] == [300, 600, 1200]
    gone = await tools("cancel_timer", which="2")
    assert [each["seconds_left"] for each in gone["cancelled"]] == [600]
    assert (await tools("cancel_timer", which="2"))["cancelled"] == [], "it is gone already"
    asked = await tools("cancel_timer", kind="timer")
    assert (asked["cancelled"], asked["spoken"][:10]) == ([], "Which one?")
    assert len((await tools("cancel_timer", kind="timer", which="all"))["cancelled"]) == 2
    assert [each.kind for each in await tools.deliveries(KITCHEN)] == [Kind.REMINDER]
    assert len(await tools.deliveries(HALL)) == 1
    assert (await tools("list_timers", kind="alarm"))["spoken"] == "Nothing is set."


async def test_a_message_by_name_or_place(tools: Tools) -> None:
    assert (await tools("tell_device", to="the Hall", text="dinner"))["told"] == ["Hall"]
    later = await tools("tell_device", to="loft", text="dinner")
    assert (later["told"], later["connected"]) == (["the loft"], 0)
    unknown = await tools("tell_device", to="moon", text="dinner")
    assert (unknown["told"], unknown["known_devices"]) == ([], ["Anna", "Hall", "the loft"])
    assert {each.device_id for each in await tools.deliveries()} == {HALL, LOFT}
    assert {each.sender for each in await tools.deliveries()} == {"Kitchen"}


async def test_an_announcement_is_for_all_others_that_somebody_knows(tools: Tools) -> None:
    answer = await tools("announce", text="we leave")
    assert sorted(answer["told"]) == ["Hall", "the loft"]
    assert len({each.series for each in await tools.deliveries()}) == 1


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (1_000, "1 second"),
        (90_000, "1 minute and 30 seconds"),
        (629_000, "10 minutes"),
        (7_200_000, "2 hours"),
    ],
)
def test_a_length_in_words(ms: int, said: str) -> None:
    assert duration(ms, "en") == said


@pytest.mark.parametrize(
    ("late_s", "said"),
    [
        (30, "Reminder: is it done?"),
        (130, "2 minutes ago: Reminder: is it done?"),
        (5 * 3600, "5 hours ago: Reminder: is it done?"),
        (3 * 86_400, "3 days ago: Reminder: is it done?"),
    ],
)
async def test_the_age_in_words(tools: Tools, late_s: int, said: str) -> None:
    await tools("set_reminder", text="is it done?", seconds=1)
    (reminder,) = await tools.deliveries()
    assert parts([reminder], reminder.due_at + late_s * 1000, "en", "UTC") == [said]


async def test_a_person_is_told_where_they_can_hear_it(tools: Tools) -> None:
    assert (await tools("tell_device", to="anna", text="dinner"))["told"] == ["the loft"]
    answer = await tools("tell_device", LOFT, to="Anna", text="dinner")
    assert answer["told"] == [], "her only device is the one that it comes from"
    assert "Anna" not in answer["known_devices"]
    assert "Anna" in (await tools("tell_device", to="nobody", text="x"))["known_devices"]


def test_of_a_persons_devices_those_that_are_connected() -> None:
    ids = [each.device_id for each in family([True, False, True]).named("Ann")]
    assert ids == ["0", "2"]
    assert len(family([False, False]).named("ann")) == 2
    assert [each.device_id for each in family([True, True]).named("ann", but="0")] == ["1"]
    assert family([True]).named("ann", but="0") == []


def family(connected: Sequence[bool]) -> Listeners:
    """Return devices of one person, connected or not."""
    devices = [
        Listener(str(number), user="Ann", connected=each) for number, each in enumerate(connected)
    ]
    return Listeners(lambda: devices, lambda _: None)
