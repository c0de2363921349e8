"""Quiet hours in whole sessions on virtual time: what is said to an idle device, and when."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from tests.session.test_reminders import DirectLink, House
from vixio.core.chunk import DeviceAsleep, DeviceAwake, TextInput
from vixio.core.clock import now
from vixio.core.device import DeviceProfile
from vixio.core.session.session import Session
from vixio.core.session.settings import SessionSettings
from vixio.core.session.speech import Priority, SpeechOutcome, SpeechStatus
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.source import FixedSource
from vixio.core.wall_clock import CLOCK
from vixio.data.database.sqlite import SQLiteDatabase
from vixio.data.reminders.deliverer import CONTACT_S
from vixio.data.reminders.records import Kind, State
from vixio.testing import ManualConnection, ScriptedAgent, ScriptedTTS, ToolUse
from vixio.tools import Deferred

NEWS = "The washing machine is done."
EVENING = datetime(2026, 5, 5, 23, 0, tzinfo=UTC).timestamp()
"""Seven hours before the quiet hours end."""
HOURS = 3600.0
NIGHT = DeviceProfile(quiet_hours="21:30-06:00")


class Idle(ManualConnection):
    """A device that is always connected, and idle until it is roused or spoken to."""

    in_conversation = False
    rousable = True

    @property
    def awake(self) -> bool:
        return self.in_conversation

    async def rouse(self, text: str = "") -> bool:
        await self._record("rouse", text)
        if not self.in_conversation and self.rousable:
            self.begin()
            self.roused = True
        return self.in_conversation

    async def hang_up(self, reason: str) -> None:
        self.rest()

    def begin(self) -> None:
        """Open a conversation, as a press of the button does."""
        self.in_conversation, self.roused = True, False
        self.put(DeviceAwake(anew=False))

    def rest(self) -> None:
        """End it."""
        self.in_conversation = False
        self.put(DeviceAsleep())


@pytest.fixture(autouse=True)
def wall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the wall clock to the evening, from where it goes by the virtual one."""
    monkeypatch.setattr(CLOCK, "now", lambda: EVENING + now())


async def booked() -> str:
    """Take a while."""
    await asyncio.sleep(30)
    return "It is booked."


async def book() -> Deferred:
    """Book a table."""
    return Deferred(booked(), "I am calling them.")


def talking() -> Conversation:
    """Return the conversation of an idle device; its agent can book a table."""

    def script(text: str) -> tuple[str | ToolUse, ...]:
        return (ToolUse("book", {}), "I call them.") if text == "book" else ("Well.",)

    source = FixedSource("here", [func_to_tool_definition(book)])
    return Conversation(
        device=Idle(),
        agent=ScriptedAgent(script),
        tts=ScriptedTTS(delay=0.1),
        runtime=ToolRuntime([source]),
        profile=NIGHT,
        settings=SessionSettings(zone="UTC"),
    )


def parts(talk: Conversation) -> tuple[Session, Idle]:
    """Return its session and its device."""
    assert talk.session is not None
    assert isinstance(talk.device, Idle)
    return talk.session, talk.device


async def book_and_rest(device: Idle) -> None:
    """Ask for a table, and end the conversation before it is booked."""
    device.begin()
    device.put(TextInput("book"))
    await device.wait_for("stop")
    device.rest()


@on_virtual_time
async def test_nobody_is_woken_by_what_nobody_has_asked_for() -> None:
    talk = talking()
    async with talk.running():
        session, device = parts(talk)
        for priority in (Priority.NORMAL, Priority.LOW):
            for speech in (session.say(NEWS, priority=priority), session.ask("hello")):
                assert speech.outcome == SpeechOutcome(SpeechStatus.QUIET, "", "06:00")
        await asyncio.sleep(5)
        assert device.sent == []
        assert not talk.agent.requests
        assert (await session.say(NEWS, priority=Priority.HIGH).played()).status == "played"
        # It is awake now, but nobody has answered: whoever slept may sleep on.
        assert device.roused
        assert (await session.say(NEWS).played()).status is SpeechStatus.QUIET


@on_virtual_time
async def test_in_a_conversation_and_outside_the_hours_all_is_as_before() -> None:
    talk = talking()
    async with talk.running():
        session, device = parts(talk)
        device.begin()
        assert (await session.say(NEWS).played()).status is SpeechStatus.PLAYED
        device.rest()
        await asyncio.sleep(7 * HOURS)
        outcome = await session.say(NEWS).played()
        assert outcome == SpeechOutcome(SpeechStatus.PLAYED, NEWS)
        assert device.roused


@on_virtual_time
async def test_the_answer_of_a_user_who_was_roused_is_a_conversation() -> None:
    talk = talking()
    async with talk.running():
        session, device = parts(talk)
        assert (await session.say(NEWS, priority=Priority.HIGH).played()).status == "played"
        device.put(TextInput("who is there"))
        await device.wait_for("stop", 2)
        assert (await session.say(NEWS).played()).status is SpeechStatus.PLAYED


@on_virtual_time
async def test_a_wake_word_is_answered_when_the_server_has_begun() -> None:
    talk = talking()
    talk.profile = replace(NIGHT, wake_greeting="Yes?")
    async with talk.running():
        session, device = parts(talk)
        assert (await session.say(NEWS, priority=Priority.HIGH).played()).status == "played"
        device.put(TextInput("hi esp", wake_word=True))
        await device.wait_for("stop", 2)
        assert device.texts() == [NEWS, "Yes?"]


@on_virtual_time
async def test_what_waits_when_the_conversation_ends_does_not_rouse() -> None:
    talk = talking()
    async with talk.running():
        session, device = parts(talk)
        device.begin()
        device.put(TextInput("talk"))
        await device.wait_for("start")
        waiting = session.say(NEWS)
        device.rest()
        assert (await waiting.played()).status is SpeechStatus.QUIET
        assert [sent.text for sent in device.all("rouse")] == ["Well."]


@on_virtual_time
async def test_a_late_result_waits_for_the_end_of_the_quiet_hours() -> None:
    talk = talking()
    async with talk.running():
        _session, device = parts(talk)
        await book_and_rest(device)
        began = now()
        await device.wait_for("stop", 2, seconds=8 * HOURS)
        assert device.texts()[-1] == "It is booked."
        assert 7 * HOURS - 60 < now() - began < 7 * HOURS + 10
        assert device.roused
    assert talk.runtime is not None
    assert talk.runtime.counters.get("tool.late.delivered") == 1


@on_virtual_time
async def test_or_for_the_user() -> None:
    talk = talking()
    async with talk.running():
        _session, device = parts(talk)
        await book_and_rest(device)
        await asyncio.sleep(HOURS)
        assert device.texts() == ["I call them."]
        began = now()
        device.begin()
        await device.wait_for("stop", 2)
        assert device.texts()[-1] == "It is booked."
        assert now() - began >= 2, "first the user may say something"


@on_virtual_time
async def test_a_late_result_that_waits_is_not_said_behind_an_alarm_that_nobody_answers() -> None:
    talk = talking()
    async with talk.running():
        session, device = parts(talk)
        await book_and_rest(device)
        await asyncio.sleep(HOURS)
        assert (await session.say(NEWS, priority=Priority.HIGH).played()).status == "played"
        await asyncio.sleep(60)
        assert device.texts() == ["I call them.", NEWS]
        device.put(TextInput("who is there"))
        await device.wait_for("stop", 4)
        assert device.texts()[2:] == ["Well.", "It is booked."]


@asynccontextmanager
async def house() -> AsyncIterator[House]:
    """Give a house whose device is idle in its quiet hours."""
    database = SQLiteDatabase(None)
    await database.open()
    home = House(talking(), DirectLink(database))
    home.deliverer._clock = home.wall = lambda: round(CLOCK.now() * 1000)  # type: ignore[method-assign]
    home.deliverer.start()
    try:
        async with home.connected():
            await asyncio.sleep(CONTACT_S + 1)
            yield home
    finally:
        await home.deliverer.stop()
        await database.close()


@on_virtual_time
async def test_reminders_are_said_and_messages_wait_for_the_morning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[float] = []
    async with house() as home:
        began = now()
        message = await home.order("call me", kind=Kind.MESSAGE)
        await home.order("tea", 60)
        assert 59 < await home.said("Reminder: tea.") - began < 62
        await home.talk.device.wait_for("stop")
        parts(home.talk)[1].rest()
        call = home.link.call

        def counted(work: Any) -> Any:  # noqa: ANN401 - of the link
            looks.append(now())
            return call(work)

        monkeypatch.setattr(home.link, "call", counted)
        await asyncio.sleep(6.9 * HOURS)
        assert len(looks) <= 2, "the end of the reminder; nothing changes, so nothing is read"
        assert await home.state(message) is State.PENDING
        await home.talk.device.wait_for("stop", 2, seconds=HOURS)
        assert "call me" in home.talk.device.texts()[-1]
        assert 7 * HOURS - 30 < now() - began < 7 * HOURS + 30
        await asyncio.sleep(1)
        assert await home.state(message) is State.DELIVERED


@on_virtual_time
async def test_messages_are_said_at_the_next_contact() -> None:
    async with house() as home:
        message = await home.order("call me", kind=Kind.MESSAGE)
        urgent = await home.order("fire", kind=Kind.ANNOUNCEMENT, priority=Priority.HIGH)
        await home.talk.device.wait_for("stop")
        await asyncio.sleep(60)
        assert await home.state(urgent) is State.DELIVERED
        assert await home.state(message) is State.PENDING, "it was roused, but nobody is up"
        answered = now()
        home.talk.device.put(TextInput("what is it"))
        await home.talk.device.wait_for("stop", 3)
        assert "call me" in home.talk.device.texts()[-1]
        assert now() - answered < 15


@on_virtual_time
async def test_a_device_that_cannot_speak_shows_it_once_and_says_it_at_the_next_contact() -> None:
    async with house() as home:
        _session, device = parts(home.talk)
        device.rousable = False
        reminder = await home.order("tea")
        message = await home.order("call me", kind=Kind.MESSAGE)
        await device.wait_for("alert")
        await asyncio.sleep(7.5 * HOURS)
        assert len(device.all("alert")) == 2, "the message in the morning, the reminder once"
        found = await home.with_repository(lambda repository: repository.delivery(reminder.id))
        assert found.state is State.PENDING
        assert found.shown_at is not None
        assert abs(found.shown_at / 1000 - EVENING) < 60
        device.begin()
        await device.wait_for("stop")
        await asyncio.sleep(1)
        assert {await home.state(each) for each in (reminder, message)} == {State.DELIVERED}
