"""Words that are written when their turn has come, and recorded before they are heard."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.errors import ProviderError
from vixio.core.history import AssistantMessage, UserMessage
from vixio.core.session.session import Session
from vixio.core.session.speech import Priority, SpeechOutcome, SpeechStatus, SpeechWithdrawn
from vixio.testing import ScriptedAgent, ScriptedASR, ScriptedTTS

STORY = "One two three four five six seven eight. Nine ten eleven twelve thirteen fourteen."
WORDS = "The tea is ready."


@dataclass
class Note:
    """A script that notes when it is called. ``gone``: at which step there is nothing to say."""

    talk: Conversation
    gone: str = ""
    steps: list[str] = field(default_factory=list)

    async def compose(self) -> str:
        await self._step("compose")
        return WORDS

    async def begin(self) -> None:
        await self._step("begin")
        assert self.talk.device.texts()[-1:] != [WORDS], "recorded after it was heard"

    async def _step(self, name: str) -> None:
        assert not session(self.talk).user_speaking or name == "compose"
        self.steps.append(name)
        await asyncio.sleep(0.05)  # a database
        if name == self.gone:
            raise SpeechWithdrawn


def session(talk: Conversation) -> Session:
    assert talk.session is not None
    return talk.session


def talking(*heard: str) -> Conversation:
    agent = ScriptedAgent(lambda text: (0.5, STORY) if text == "talk" else ("Well.",))
    return Conversation(
        asr=ScriptedASR(list(heard) or ["talk"], delay=0.2), agent=agent, tts=ScriptedTTS(delay=0.1)
    )


@on_virtual_time
async def test_it_is_composed_and_recorded_before_it_is_heard() -> None:
    talk = talking()
    async with talk.running():
        note = Note(talk)
        handle = session(talk).perform(note)
        assert await handle.played() == SpeechOutcome(SpeechStatus.PLAYED, WORDS)
        assert note.steps == ["compose", "begin"]
        assert list(talk.history.items()) == [AssistantMessage(WORDS)]


@on_virtual_time
async def test_it_is_written_when_its_turn_has_come() -> None:
    talk = talking("talk")
    async with talk.running():
        talk.listen()
        await talk.say()
        await talk.device.wait_for("start")
        note = Note(talk)
        handle = session(talk).perform(note)
        await asyncio.sleep(1.0)
        assert note.steps == []
        assert (await handle.played()).status is SpeechStatus.PLAYED
        assert talk.device.texts()[-1] == WORDS
        assert len(talk.device.texts()) == 3, "the story is told to its end first"


@on_virtual_time
async def test_it_never_begins_while_the_user_speaks() -> None:
    for priority in Priority:
        talk = talking("hello")
        async with talk.running():
            talk.listen()
            saying = asyncio.create_task(talk.say(4.0))
            await asyncio.sleep(1.0)
            note = Note(talk)
            handle = session(talk).perform(note, priority=priority)
            await saying
            assert (await handle.played()).status is SpeechStatus.PLAYED
            assert talk.device.texts() == ["Well.", WORDS]


@on_virtual_time
async def test_a_user_who_begins_to_speak_goes_first() -> None:
    talk = talking("hello")
    talk.tts = ScriptedTTS(delay=1.0)
    async with talk.running():
        talk.listen()
        note = Note(talk)
        handle = session(talk).perform(note)
        await asyncio.sleep(0.3)
        assert note.steps == ["compose"]
        await talk.say(2.0)
        assert (await handle.played()).status is SpeechStatus.PLAYED
        assert talk.device.texts() == ["Well.", WORDS]
        assert note.steps == ["compose", "compose", "begin"]
        assert list(talk.history.items()) == [
            UserMessage("hello"),
            AssistantMessage("Well."),
            AssistantMessage(WORDS),
        ]


@on_virtual_time
async def test_what_is_withdrawn_is_not_heard_and_costs_nothing() -> None:
    for gone in ("compose", "begin"):
        talk = talking("hello")
        async with talk.running():
            talk.listen()
            note = Note(talk, gone)
            handle = session(talk).perform(note)
            assert await handle.played() == SpeechOutcome(SpeechStatus.DROPPED)
            assert note.steps[-1] == gone
            assert talk.device.all("start") == []
            assert talk.device.all("stop") == []
            await talk.say()
            await talk.device.wait_for("stop")
            assert talk.device.texts() == ["Well."]
            assert list(talk.history.items()) == [UserMessage("hello"), AssistantMessage("Well.")]


@on_virtual_time
async def test_a_voice_that_fails_does_not_apologise_for_what_nobody_has_asked() -> None:
    talk = talking()
    talk.tts = ScriptedTTS(error=ProviderError("tts", "it is down"))
    async with talk.running():
        note = Note(talk)
        handle = session(talk).perform(note)
        assert await handle.played() == SpeechOutcome(SpeechStatus.FAILED)
        assert note.steps == ["compose"], "it has not been heard"
        assert talk.device.all("alert") == []
        assert talk.device.texts() == []
