"""Another profile for a running session: from the next turn on, without a lost word."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import Abort, ListenMode, ListenStop, TextInput
from vixio.core.device import DeviceProfile
from vixio.core.errors import ConfigError
from vixio.core.greetings import WakeGreetings
from vixio.core.pipeline import Pipeline
from vixio.core.session.engine import Engine
from vixio.core.turns.interruption import ByRecogniser
from vixio.stations.turn_detector import TurnSettings
from vixio.testing import ScriptedAgent, ScriptedASR, ScriptedTTS, silence, speech

GERMAN = DeviceProfile(language="de", wake_greeting="Ja?")


@dataclass
class Changing:
    """A conversation in English, and the engines that were made for other profiles."""

    talk: Conversation = field(default_factory=lambda: Conversation(asr=ScriptedASR(delay=0.2)))
    made: list[Conversation] = field(default_factory=list)
    delay: float = 0.0
    error: Exception | None = None

    def __post_init__(self) -> None:
        self.talk.make_engine = self.make
        self.talk.agent = ScriptedAgent(lambda text: ("In English.",))

    async def make(self, profile: DeviceProfile) -> Engine:
        await asyncio.sleep(self.delay)
        if self.error is not None:
            raise self.error
        agent = ScriptedAgent(lambda text: (f"Auf {profile.language}.",))
        new = Conversation(asr=ScriptedASR(["ghost"], delay=0.2), agent=agent, tts=ScriptedTTS())
        self.made.append(new)
        pipeline: Pipeline = new.pipeline()
        return pipeline

    def reconfigure(self, profile: DeviceProfile = GERMAN) -> None:
        assert self.talk.session is not None
        self.talk.session.reconfigure(profile)


@on_virtual_time
async def test_the_new_profile_brings_wake_words() -> None:
    changing = Changing()
    talk = changing.talk
    async with talk.running():
        talk.device.put(TextInput("emil"))
        await talk.device.wait_for("stop")
        changing.reconfigure(DeviceProfile(wake_greeting=WakeGreetings.of({"emil": "Was?"})))
        await asyncio.sleep(1.0)
        talk.device.put(TextInput("Emil!"))
        await talk.device.wait_for("stop", 2)
        assert talk.device.texts() == ["In English.", "Was?"]
        assert changing.made[0].agent.requests == []


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
async def test_an_engine_that_waits_does_not_serve_a_later_profile() -> None:
    """The first one is made and waits for the end of the reply; the second takes long to make."""
    changing = Changing()
    talk = changing.talk
    talk.agent = ScriptedAgent(lambda text: ("A reply of quite some length, in English.",))
    async with talk.running():
        assert talk.session is not None
        talk.device.put(TextInput("one"))
        await talk.device.wait_for("start")
        changing.reconfigure(DeviceProfile(language="fr"))
        await asyncio.sleep(0.1)
        changing.delay = 10.0
        changing.reconfigure()
        await talk.device.wait_for("stop")
        await asyncio.sleep(1.0)
        assert talk.session.profile.language == "en"
        assert [new.agent.closed for new in changing.made] == [True]
        await asyncio.sleep(10.0)
        assert talk.session.profile == GERMAN
        talk.device.put(TextInput("two"))
        await talk.device.wait_for("stop", 2)
        assert talk.device.texts()[-1] == "Auf de."


@pytest.mark.parametrize("error", [ConfigError("no such voice"), ValueError("a defect")])
@on_virtual_time
async def test_a_profile_that_cannot_be_served_leaves_the_old_one(error: Exception) -> None:
    changing = Changing(error=error)
    talk = changing.talk
    async with talk.running():
        assert talk.session is not None
        before = talk.session.profile
        changing.reconfigure()
        await asyncio.sleep(1.0)
        assert talk.session.profile == talk.session.next_profile == before
        talk.device.put(TextInput("one"))
        await talk.device.wait_for("stop")
        assert talk.device.texts() == ["In English."]
        changing.error = None
        changing.reconfigure()
        await asyncio.sleep(1.0)
        talk.device.put(TextInput("two"))
        await talk.device.wait_for("stop", 2)
        assert talk.device.texts()[-1] == "Auf de."


@on_virtual_time
async def test_a_failure_leaves_no_engine_of_an_earlier_request() -> None:
    changing = Changing()
    talk = changing.talk
    async with talk.running():
        assert talk.session is not None
        talk.listen()
        await talk.device.play(silence(0.2))
        changing.reconfigure(DeviceProfile(language="fr"))
        await asyncio.sleep(0.1)  # made, and waiting for enough audio
        changing.error = ConfigError("no such voice")
        changing.reconfigure()
        await asyncio.sleep(1.0)
        assert [new.agent.closed for new in changing.made] == [True]
        assert talk.session.profile.language == "en"


@on_virtual_time
async def test_the_profile_in_force_is_the_one_that_serves() -> None:
    changing = Changing(delay=0.5)
    talk = changing.talk
    async with talk.running():
        assert talk.session is not None
        before = talk.session.profile
        changing.reconfigure()
        await asyncio.sleep(0.1)
        assert talk.session.profile == before
        assert talk.session.next_profile == GERMAN
        await asyncio.sleep(1.0)
        assert talk.session.profile == talk.session.next_profile == GERMAN


@on_virtual_time
async def test_an_utterance_of_push_to_talk_is_answered_once() -> None:
    changing = Changing()
    talk = changing.talk
    async with talk.running():
        talk.listen(ListenMode.MANUAL)
        speaking = asyncio.create_task(talk.device.play(speech(1.5)))
        await asyncio.sleep(0.5)
        changing.reconfigure()
        await speaking
        talk.device.put(ListenStop())
        await talk.device.wait_for("stop")
        await asyncio.sleep(20.0)
        assert talk.device.texts() == ["In English."]
        (new,) = changing.made
        assert new.asr.utterances == []
        talk.listen(ListenMode.MANUAL)
        await talk.device.play(speech(1.5))
        talk.device.put(ListenStop())
        await talk.device.wait_for("stop", 2)
        assert talk.device.texts()[-1] == "Auf de."


@on_virtual_time
async def test_an_aborted_utterance_is_not_answered() -> None:
    changing = Changing()
    talk = changing.talk
    async with talk.running():
        talk.listen()
        speaking = asyncio.create_task(talk.device.play(silence(0.3) + speech(1.5)))
        await asyncio.sleep(0.8)
        changing.reconfigure()
        await speaking
        talk.device.put(Abort())
        await talk.device.play(silence(2.0))
        await asyncio.sleep(5.0)
        assert talk.session is not None
        assert talk.session.profile == GERMAN
        assert talk.device.texts() == []


@on_virtual_time
async def test_a_noise_is_not_heard_twice() -> None:
    """It ended a moment before the change."""
    changing = Changing()
    talk = changing.talk
    talk.turn = TurnSettings(end_silence_ms=150)
    talk.asr = ScriptedASR([""], delay=0.05)
    async with talk.running():
        talk.listen()
        await talk.device.play(silence(0.6))
        changing.reconfigure()
        await talk.device.play(silence(0.2) + speech(0.2) + silence(2.0))
        assert talk.session is not None
        assert talk.session.profile == GERMAN
        (new,) = changing.made
        assert new.asr.utterances == []
        assert talk.device.texts() == []


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


class CommandsASR(ScriptedASR):
    """Hears nothing but commands."""

    closed_vocabulary = True


@on_virtual_time
async def test_a_voice_over_a_speech_does_what_suits_the_recogniser_of_the_profile() -> None:
    for first, second in ((ScriptedASR, CommandsASR), (CommandsASR, ScriptedASR)):
        talk = Conversation(asr=first([""]), interruption=ByRecogniser)
        other = Conversation(asr=second([""]), agent=talk.agent, tts=talk.tts)

        async def make(profile: DeviceProfile, other: Conversation = other) -> Engine:
            return other.pipeline()

        talk.make_engine = make
        talk.agent.script = lambda text: ("A long story. " * 20,)
        async with talk.running():
            talk.listen(ListenMode.REALTIME)
            states = [await state_over_a_speech(talk)]
            assert talk.session is not None
            talk.session.reconfigure(GERMAN)
            talk.device.put(Abort())
            await asyncio.sleep(1)
            assert talk.session.profile is GERMAN
            states.append(await state_over_a_speech(talk))
        held = {ScriptedASR: "paused", CommandsASR: "listening"}
        assert states == [held[first], held[second]]


async def state_over_a_speech(talk: Conversation) -> str:
    """Return whose turn it is while somebody speaks over a story."""
    assert talk.session is not None
    talk.device.put(TextInput("tell me"))
    sent = len(talk.device.all("audio"))
    await talk.device.wait_for("audio", sent + 8)
    speaking = asyncio.create_task(talk.device.play(speech(0.5) + silence(2.0)))
    await asyncio.sleep(0.4)
    state = talk.session.state
    await speaking
    return state
