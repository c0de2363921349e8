"""``tts start`` is sent so early that the device can play when the audio comes."""

from __future__ import annotations

import asyncio

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import Abort, ListenMode, TextInput
from vixio.core.history import UserMessage
from vixio.core.pacer import PacerSettings
from vixio.core.session.settings import SessionSettings
from vixio.testing import ScriptedAgent, ScriptedASR, ScriptedTTS, silence, speech

LEAD_S = PacerSettings().start_lead_ms / 1000
SLOWEST_DEVICE_S = 0.150
"""The longest that devices take from ``tts start`` until they play (main/application.cc)."""


async def replied(talk: Conversation, number: int) -> tuple[float, float]:
    """Have reply ``number`` (from 1); return when its ``tts start`` and first packet were sent."""
    before = len(talk.device.all("audio"))
    talk.device.put(TextInput(f"question {number}"))
    start = await talk.device.wait_for("start", number)
    audio = await talk.device.wait_for("audio", before + 1)
    await talk.device.wait_for("stop", number)
    return start.at, audio.at


@pytest.mark.parametrize("latency", [0.0, 0.05, 0.4, 1.9])
@on_virtual_time
async def test_audio_follows_the_start_when_the_device_can_play(latency: float) -> None:
    talk = Conversation(tts=ScriptedTTS(delay=latency))
    async with talk.running():
        for number in (1, 2, 3):
            start, audio = await replied(talk, number)
            assert audio - start >= SLOWEST_DEVICE_S
            kinds = [sent.kind for sent in talk.device.sent if sent.kind != "transcript"]
            assert kinds[:2] == ["start", "sentence"]


@pytest.mark.parametrize("latency", [0.2, 0.4, 1.9])
@on_virtual_time
async def test_a_voice_whose_latency_is_known_is_not_heard_later(latency: float) -> None:
    """From the second reply of a session the lead lies within the voice's own latency."""
    talk = Conversation(tts=ScriptedTTS(delay=latency))
    async with talk.running():
        await replied(talk, 1)
        for number in (2, 3):
            start, audio = await replied(talk, number)
            await asyncio.sleep(0)
            marks = talk.ended[-1].marks
            assert audio == pytest.approx(marks["first_audio"], abs=0.001)
            assert start == pytest.approx(audio - LEAD_S, abs=0.001), "and not earlier than needed"
            assert talk.ended[-1].held == pytest.approx(0.0, abs=0.001)


@on_virtual_time
async def test_a_fast_voice_is_not_heard_later_if_the_model_takes_time_for_its_sentence() -> None:
    """The lead lies within the time from the first words to the end of the first sentence."""
    agent = ScriptedAgent(lambda text: (0.4, "The kitchen ", 0.2, "light is on. ", 0.3, "Enjoy."))
    talk = Conversation(agent=agent, tts=ScriptedTTS(delay=0.01))
    async with talk.running():
        await replied(talk, 1)
        for number in (2, 3):
            start, audio = await replied(talk, number)
            await asyncio.sleep(0)
            assert audio == pytest.approx(talk.ended[-1].marks["first_audio"], abs=0.001)
            assert start == pytest.approx(audio - LEAD_S, abs=0.001)


@on_virtual_time
async def test_a_voice_that_is_slower_than_expected_leaves_no_gap_in_the_protocol() -> None:
    tts = ScriptedTTS(delay=0.3)
    talk = Conversation(tts=tts)
    async with talk.running():
        await replied(talk, 1)
        tts.delay = 1.5
        start, audio = await replied(talk, 2)
        assert audio - start == pytest.approx(1.2 + LEAD_S, abs=0.001)


@on_virtual_time
async def test_the_lead_is_a_setting() -> None:
    settings = SessionSettings(pacer=PacerSettings(start_lead_ms=40))
    talk = Conversation(settings=settings)
    async with talk.running():
        start, audio = await replied(talk, 1)
        assert audio - start == pytest.approx(0.04, abs=0.001)


@on_virtual_time
async def test_who_goes_on_before_the_start_still_holds_the_reply() -> None:
    """The announcement waits for the user as the audio itself does."""
    agent = ScriptedAgent(lambda text: (0.5, f"You said {text}."))
    asr = ScriptedASR(["first", "turn on", "the kitchen light"])
    talk = Conversation(asr=asr, agent=agent, tts=ScriptedTTS(delay=0.3))
    async with talk.running():
        talk.listen()
        await talk.say(0.6, pause=0.7)
        await talk.device.wait_for("stop")
        talk.listen()
        await talk.say(0.6, pause=0.7)
        await talk.say(0.6, pause=0.9)
        await talk.device.wait_for("stop", 2)
        assert len(talk.device.all("start")) == 2
        assert talk.device.texts()[-1] == "You said turn on the kitchen light."


@on_virtual_time
async def test_in_realtime_mode_the_user_is_heard_until_there_is_audio() -> None:
    """Nothing is announced there: who goes on speaking is answered once."""
    asr = ScriptedASR(["first", "turn on", "the kitchen light"])
    talk = Conversation(asr=asr, tts=ScriptedTTS(delay=1.5))
    async with talk.running():
        talk.listen(ListenMode.REALTIME)
        await talk.say(0.6, pause=0.7)
        await talk.device.wait_for("stop")
        await talk.device.play(silence(0.3) + speech(0.6) + silence(0.7))
        await talk.device.play(speech(0.6) + silence(1.0))
        await talk.device.wait_for("stop", 2)
        assert talk.device.texts()[-1] == "You said turn on the kitchen light."
        assert UserMessage("turn on the kitchen light") in talk.history.items()


@pytest.mark.parametrize("after", [0.0, 0.05, 0.2, 0.39, 0.41, 0.5])
@on_virtual_time
async def test_an_interruption_around_the_start_is_clean(after: float) -> None:
    """Announced or not: a start has its stop, nothing follows it, and the next turn is whole."""
    talk = Conversation(tts=ScriptedTTS(delay=0.4))
    async with talk.running():
        await replied(talk, 1)
        since = len(talk.device.sent)
        talk.device.put(TextInput("another"))
        await asyncio.sleep(after)
        talk.device.put(Abort("wake_word_detected"))
        await talk.device.wait_for("stop", 2)
        await asyncio.sleep(5)
        kinds = [sent.kind for sent in talk.device.sent[since:]]
        assert kinds[-1] == "stop"
        assert kinds.count("stop") == 1
        assert kinds.count("start") <= 1
        talk.device.put(TextInput("next"))
        await talk.device.wait_for("stop", 3)
        assert talk.device.texts()[-1] == "You said next."


@on_virtual_time
async def test_a_speech_that_is_cut_after_its_start_is_over() -> None:
    talk = Conversation(tts=ScriptedTTS(delay=0.4))
    async with talk.running():
        await replied(talk, 1)
        assert talk.session is not None
        handle = talk.session.say("An announcement.")
        await talk.device.wait_for("start", 2)
        talk.device.put(Abort("wake_word_detected"))
        outcome = await handle.played()
        assert (outcome.status, outcome.heard) == ("interrupted", "")
