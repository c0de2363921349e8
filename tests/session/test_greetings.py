"""Greetings: by wake word, and at once when their audio is known."""

from __future__ import annotations

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import TextInput
from vixio.core.clock import now
from vixio.core.device import DeviceProfile
from vixio.core.errors import ProviderError
from vixio.core.greetings import WakeGreetings
from vixio.core.pacer import PacerSettings
from vixio.testing import ScriptedTTS

LEAD_S = PacerSettings().start_lead_ms / 1000
VOICE_S = 0.8


def greeting(**texts: str) -> Conversation:
    profile = DeviceProfile(wake_greeting=WakeGreetings.of(texts))
    return Conversation(profile=profile, tts=ScriptedTTS(delay=VOICE_S))


async def wake(talk: Conversation, word: str) -> float:
    """Say a wake word, and hear the answer; return the seconds to its first audio."""
    frames, replies = len(talk.device.all("audio")), len(talk.device.all("stop"))
    said_at = now()
    talk.device.put(TextInput(word, wake_word=True))
    first = await talk.device.wait_for("audio", frames + 1)
    await talk.device.wait_for("stop", replies + 1)
    return first.at - said_at


@on_virtual_time
async def test_each_wake_word_has_its_own() -> None:
    talk = greeting(alexa="Yes?", computer="Working.")
    async with talk.running():
        await wake(talk, "Computer!")
        await wake(talk, "ALEXA")
        talk.device.put(TextInput("jarvis", wake_word=True))
        await wake(talk, "computer")
        assert talk.device.texts() == ["Working.", "Yes?", "Working."]
        assert talk.agent.requests == []


@on_virtual_time
async def test_the_second_time_it_does_not_wait_for_the_voice() -> None:
    talk = greeting(alexa="Yes?")
    async with talk.running():
        first, second = await wake(talk, "alexa"), await wake(talk, "alexa")
        assert first == pytest.approx(VOICE_S + LEAD_S, abs=0.01)
        assert second == pytest.approx(LEAD_S, abs=0.01)
        talk.tts.error = ProviderError("scripted", "gone")
        assert await wake(talk, "alexa") == pytest.approx(LEAD_S, abs=0.01)
        assert talk.tts.spoken == ["Yes?"]
        assert talk.device.texts() == ["Yes?"] * 3


@on_virtual_time
async def test_it_does_not_change_what_is_expected_of_the_voice() -> None:
    """A reply's start is announced as early as the voice needs; kept audio needs no time."""
    talk = greeting(alexa="Yes?")
    async with talk.running():
        for _ in range(3):
            await wake(talk, "alexa")
        assert talk.session is not None
        assert talk.session.context.voice_latency.least is None
        talk.device.put(TextInput("hello"))
        await talk.device.wait_for("stop", 4)
        assert talk.session.context.voice_latency.least == pytest.approx(VOICE_S, abs=0.01)


@on_virtual_time
async def test_a_wake_word_that_only_the_profile_names_is_one() -> None:
    """The transport takes it for typed text: it knows the wake words of all devices alone."""
    talk = greeting(bertha="Ja?")
    async with talk.running():
        talk.device.put(TextInput("Bertha!"))
        await talk.device.wait_for("stop", 1)
        assert talk.device.texts() == ["Ja?"]
        talk.device.put(TextInput("bertha is here"))
        await talk.device.wait_for("stop", 2)
        assert [each.text for each in talk.agent.requests] == ["bertha is here"]
