"""Another profile for a running session: from the next turn on, without a lost word."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import ListenMode, TextInput
from vixio.core.device import DeviceProfile
from vixio.core.errors import ConfigError
from vixio.core.pipeline import Pipeline
from vixio.core.session.engine import Engine
from vixio.testing import ScriptedAgent, ScriptedASR, ScriptedTTS, silence, speech

GERMAN = DeviceProfile(language="de", wake_greeting="Ja?")


@dataclass
class Changing:
    """A conversation in English, and the engines that were made for other profiles."""

    talk: Conversation = field(default_factory=lambda: Conversation(asr=ScriptedASR(delay=0.2)))
    made: list[Conversation] = field(default_factory=list)
    delay: float = 0.0
    error: ConfigError | None = None

    def __post_init__(self) -> None:
        self.talk.make_engine = self.make
        self.talk.agent = ScriptedAgent(lambda text: ("In English.",))

    async def make(self, profile: DeviceProfile) -> Engine:
        await asyncio.sleep(self.delay)
        if self.error is not None:
            raise self.error
        agent = ScriptedAgent(lambda text: (f"Auf {profile.language}.",))
        new = Conversation(asr=ScriptedASR(delay=0.2), agent=agent, tts=ScriptedTTS())
        self.made.append(new)
        pipeline: Pipeline = new.pipeline()
        return pipeline

    def reconfigure(self, profile: DeviceProfile = GERMAN) -> None:
        assert self.talk.session is not None
        self.talk.session.reconfigure(profile)


@pytest.mark.parametrize("listening", [False, True])
@on_virtual_time
async def test_the_next_turn_is_served_by_the_new_profile(listening: bool) -> None:
    changing = Changing()
    talk = changing.talk
    async with talk.running():
        if listening:
            talk.listen()
        talk.device.put(TextInput("one"))
        await talk.device.wait_for("stop")
        changing.reconfigure()
        await asyncio.sleep(1.0)
        talk.device.put(TextInput("two"))
        await talk.device.wait_for("stop", 2)
        assert talk.device.texts() == ["In English.", "Auf de."]
        (new,) = changing.made
        assert [request.language for request in new.agent.requests] == ["de"]
        # The conversation goes on: the new agent knows what was said before.
        assert len(new.agent.requests[0].history) == 2
        assert talk.agent.closed
        assert not new.agent.closed
        talk.device.put(TextInput("Hi", wake_word=True))
        await talk.device.wait_for("stop", 3)
        assert talk.device.texts()[-1] == "Ja?"
    assert changing.made[0].agent.closed


@on_virtual_time
async def test_a_running_reply_and_a_speaking_user_are_let_finish() -> None:
    changing = Changing()
    talk = changing.talk
    talk.asr = ScriptedASR(["first"], delay=0.5)
    async with talk.running():
        talk.listen()
        saying = asyncio.create_task(talk.say(1.0))
        await asyncio.sleep(0.8)
        changing.reconfigure()
        await saying
        await talk.device.wait_for("stop")
        assert talk.device.texts() == ["In English."]
        await asyncio.sleep(1.0)
        await talk.say(1.0)
        await talk.device.wait_for("stop", 2)
        assert talk.device.texts()[-1] == "Auf de."


@on_virtual_time
async def test_words_that_begin_during_the_change_are_heard_whole() -> None:
    """The new engine hears the last half second again: its VAD begins from nothing."""
    changing = Changing(delay=0.3)
    talk = changing.talk
    async with talk.running():
        talk.listen(ListenMode.AUTO)
        await talk.device.play(silence(0.9))
        changing.reconfigure()
        # The microphone goes on; the voice begins 40 ms before the change takes place.
        await talk.device.play(silence(0.56) + speech(1.2) + silence(0.8))
        await talk.device.wait_for("stop")
        assert talk.device.texts() == ["Auf de."]
        (new,) = changing.made
        (heard,) = new.asr.utterances
        voiced = speech(1.2)
        assert len(heard) >= len(voiced)
        assert voiced[: len(voiced) // 2] in heard
        assert talk.asr.utterances == []


@on_virtual_time
async def test_the_last_of_several_profiles_holds() -> None:
    changing = Changing(delay=0.2)
    talk = changing.talk
    async with talk.running():
        changing.reconfigure(DeviceProfile(language="fr"))
        await asyncio.sleep(0.1)
        changing.reconfigure()
        await asyncio.sleep(1.0)
        talk.device.put(TextInput("one"))
        await talk.device.wait_for("stop")
        assert talk.device.texts() == ["Auf de."]
        assert [new.agent.closed for new in changing.made] == [True, False]


@on_virtual_time
async def test_a_profile_that_cannot_be_served_leaves_the_old_one() -> None:
    changing = Changing(error=ConfigError("no such voice"))
    talk = changing.talk
    async with talk.running():
        changing.reconfigure()
        await asyncio.sleep(1.0)
        talk.device.put(TextInput("one"))
        await talk.device.wait_for("stop")
        assert talk.device.texts() == ["In English."]


@on_virtual_time
async def test_an_engine_that_is_never_used_is_closed() -> None:
    changing = Changing()
    talk = changing.talk
    async with talk.running():
        talk.listen()
        await talk.device.play(silence(0.2))
        changing.reconfigure()
        await asyncio.sleep(0.1)  # made, and waiting for enough audio
    assert [new.agent.closed for new in changing.made] == [True]
