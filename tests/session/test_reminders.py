"""Reminders in whole sessions on virtual time: when they are said, and that they disturb nobody."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import TextInput
from vixio.core.clock import now
from vixio.core.metrics import Counters
from vixio.core.session.directory import SessionDirectory
from vixio.core.session.speech import Priority
from vixio.core.session.speech_queue import QUIET_S
from vixio.data.database.database import Database
from vixio.data.database.link import Link, Operation
from vixio.data.database.sqlite import SQLiteDatabase
from vixio.data.reminders.deliverer import CONTACT_S, LONGEST_S, Deliverer
from vixio.data.reminders.ledger import RETRY_MS
from vixio.data.reminders.records import Delivery, Kind, Order, State
from vixio.data.reminders.repository import ReminderRepository
from vixio.testing import ScriptedAgent, ScriptedASR, ScriptedTTS

T = TypeVar("T")

WALL = 1_800_000_000_000
STORY_SENTENCES = [
    "One two three four five six seven eight.",
    "Nine ten eleven twelve thirteen fourteen.",
]
STORY = " ".join(STORY_SENTENCES)
DEVICE = "02:00:00:00:00:01"


class DirectLink(Link[Database]):
    """A database without a thread, for virtual time."""

    def __init__(self, database: Database) -> None:
        super().__init__(lambda: database, name="none")
        self._database = database

    async def call(self, operation: Operation[Database, T]) -> T:
        return await operation.do(self._database)


@dataclass
class House:
    """One device in conversation, and what delivers to it."""

    talk: Conversation
    link: DirectLink
    sessions: SessionDirectory = field(default_factory=SessionDirectory)
    set_by_ms: int = 0
    """How much the wall clock was set."""

    def __post_init__(self) -> None:
        counters = Counters()
        self.deliverer = Deliverer(self.link, self.sessions, counters, "UTC", self.wall)

    def wall(self) -> int:
        """Return the wall clock."""
        return WALL + round(now() * 1000) + self.set_by_ms

    async def with_repository(self, work: Callable[[ReminderRepository], Awaitable[T]]) -> T:
        """Do something with the deliveries."""
        return await self.link.call(
            Operation(lambda database: work(ReminderRepository(database, clock=self.wall)))
        )

    async def order(self, text: str, in_s: float = 0, **more: object) -> Delivery:
        """Have something said in so many seconds."""
        due = self.wall() + round(in_s * 1000)
        values = {"kind": Kind.REMINDER, "due_at": due, "text": text, **more}
        order = Order(device_id=DEVICE, **values)  # type: ignore[arg-type]
        added = await self.with_repository(lambda repository: repository.add(order))
        self.deliverer.wake()
        return added

    async def state(self, delivery: Delivery) -> State:
        """Return what became of it."""
        return (
            await self.with_repository(lambda repository: repository.delivery(delivery.id))
        ).state

    async def said(self, words: str) -> float:
        """Wait until something with ``words`` is shown; return when."""
        async with asyncio.timeout(700):
            while True:
                for sent in self.talk.device.all("sentence"):
                    if words in sent.text:
                        return sent.at
                await asyncio.sleep(0.05)

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Have the device connect; what it does is delivered to."""
        self.talk.events.attach(self.deliverer)
        async with self.talk.running():
            assert self.talk.session is not None
            self.sessions.add(self.talk.session)
            yield
            self.sessions.remove(self.talk.session)


@asynccontextmanager
async def house(*heard: str, voice: ScriptedTTS | None = None) -> AsyncIterator[House]:
    """Give a house with an empty database."""
    database = SQLiteDatabase(None)
    await database.open()
    agent = ScriptedAgent(lambda text: (0.5, STORY) if text == "talk" else ("Well.",))
    asr = ScriptedASR(list(heard) or ["hello"], delay=0.2)
    talk = Conversation(asr=asr, agent=agent, tts=voice or ScriptedTTS(delay=0.1))
    made = House(talk, DirectLink(database))
    made.deliverer.start()
    try:
        yield made
    finally:
        await made.deliverer.stop()
        await database.close()


@on_virtual_time
async def test_said_on_time_to_a_device_at_rest() -> None:
    async with house() as home, home.connected():
        await asyncio.sleep(CONTACT_S + 1)
        wanted = await home.order("tea", 600)
        due = now() + 600
        assert 0 <= await home.said("Reminder: tea.") - due < 1
        await home.talk.device.wait_for("stop")
        await asyncio.sleep(0.1)
        assert await home.state(wanted) is State.DELIVERED


@on_virtual_time
async def test_at_the_next_contact_after_the_users_turn_with_its_age() -> None:
    async with house("hello") as home:
        wanted = await home.order("tea", 10)
        await asyncio.sleep(310)
        assert await home.state(wanted) is State.PENDING
        async with home.connected():
            home.talk.listen()
            await home.talk.say(2.0)
            at = await home.said("tea")
            assert home.talk.device.texts() == ["Well.", "5 minutes ago:", "Reminder: tea."]
            stopped = home.talk.device.all("stop")[0].at
            assert at - stopped >= QUIET_S
        assert await home.state(wanted) is State.DELIVERED


@on_virtual_time
async def test_at_the_next_contact_of_a_user_who_says_nothing() -> None:
    async with house() as home:
        await home.order("tea", 1)
        await asyncio.sleep(20)
        began = now()
        async with home.connected():
            home.talk.listen()
            assert CONTACT_S <= await home.said("Reminder: tea.") - began < CONTACT_S + 2
            await home.talk.device.wait_for("stop")


@on_virtual_time
async def test_by_priority() -> None:
    """High cuts the assistant's own words, normal waits for them, low for a pause as well."""
    expected = {Priority.HIGH: 1, Priority.NORMAL: 2, Priority.LOW: 2}
    for priority, sentences in expected.items():
        async with house("talk") as home, home.connected():
            home.talk.listen()
            await home.talk.say()
            await home.talk.device.wait_for("sentence")
            await home.order("tea", priority=priority)
            at = await home.said("tea")
            before = [each for each in home.talk.device.all("sentence") if each.at < at]
            assert len(before) == sentences, priority
            pause = at - home.talk.device.all("stop")[0].at
            assert (pause >= QUIET_S) is (priority is Priority.LOW)
            await home.talk.device.wait_for("stop", 2)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.floats(0, 12), st.floats(0.5, 4), st.sampled_from(Priority))
def test_never_in_the_middle_of_what_the_user_says(
    due: float, seconds: float, priority: Priority
) -> None:
    @on_virtual_time
    async def run() -> None:
        async with house("hello", "hello") as home, home.connected():
            home.talk.listen()
            assert home.talk.session is not None
            wanted = await home.order("tea", due, priority=priority)
            for _ in range(2):
                saying = asyncio.create_task(home.talk.say(seconds))
                while not saying.done():
                    if home.talk.session.user_speaking:
                        began = len(home.talk.device.all("start"))
                        await asyncio.sleep(0.02)
                        if home.talk.session.user_speaking:
                            assert len(home.talk.device.all("start")) == began
                    else:
                        await asyncio.sleep(0.02)
                await asyncio.sleep(6)
            await home.said("Reminder: tea.")
            await asyncio.sleep(5)
            assert await home.state(wanted) is State.DELIVERED
            spoken = [text for text in home.talk.device.texts() if "tea" in text]
            assert spoken == ["Reminder: tea."]

    run()


@on_virtual_time
async def test_the_user_cuts_it_before_a_word_is_heard_and_hears_it_later() -> None:
    async with house("hello", voice=ScriptedTTS(delay=1.0)) as home, home.connected():
        await asyncio.sleep(CONTACT_S + 1)
        home.talk.listen()
        wanted = await home.order("tea")
        await asyncio.sleep(0.3)  # its words are made
        await home.talk.say(2.0)
        await home.said("tea")
        assert home.talk.device.texts() == ["Well.", "Reminder: tea."]
        await home.talk.device.wait_for("stop", 2)
        await asyncio.sleep(0.1)
        assert await home.state(wanted) is State.DELIVERED


@on_virtual_time
async def test_a_voice_that_is_down_is_tried_again() -> None:
    voice = ScriptedTTS(error=RuntimeError("down"))
    async with house(voice=voice) as home, home.connected():
        await asyncio.sleep(CONTACT_S + 1)
        wanted = await home.order("tea")
        await asyncio.sleep(1)
        assert (await home.state(wanted), home.talk.device.texts()) == (State.PENDING, [])
        voice.error = None
        at = now()
        assert await home.said("tea") - at > RETRY_MS / 1000 - 5
        await home.talk.device.wait_for("stop")


@on_virtual_time
async def test_a_clock_that_is_set_is_followed() -> None:
    async with house() as home, home.connected():
        await asyncio.sleep(CONTACT_S + 1)
        await home.order("tea", 3 * 3600)
        await asyncio.sleep(10)
        home.set_by_ms = 3 * 3_600_000 - 10_000
        at = now()
        assert await home.said("tea") - at < LONGEST_S + 1
        await home.talk.device.wait_for("stop")


@on_virtual_time
async def test_a_device_that_leaves_in_the_middle_has_heard_what_it_heard() -> None:
    async with house() as home:
        async with home.connected():
            await asyncio.sleep(CONTACT_S + 1)
            first = await home.order("a long cup of tea in the garden")
            second = await home.order("coffee", 0.001)
            await home.said("Reminder: a long")
            await asyncio.sleep(1.0)
        await asyncio.sleep(1)
        assert await home.state(first) is State.DELIVERED
        assert await home.state(second) is State.PENDING


@on_virtual_time
async def test_typed_text_goes_first_too() -> None:
    async with house() as home:
        await home.order("tea", 1)
        await asyncio.sleep(100)
        async with home.connected():
            home.talk.device.put(TextInput("talk"))
            await home.said("Reminder: tea.")
            assert home.talk.device.texts() == [*STORY_SENTENCES, "1 minute ago:", "Reminder: tea."]
            await home.talk.device.wait_for("stop", 2)
