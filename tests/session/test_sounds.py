"""Sounds give way to words and to the user, and go on; some words and causes end them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import Abort, AudioOut, Chunk, DeviceAsleep, ListenMode, TextInput
from vixio.core.session.speech import Priority, SpeechHandle, SpeechStatus
from vixio.testing import ScriptedAgent, ScriptedASR, ScriptedTTS, silence, speech

RATE = 24_000


class Tone:
    """A minute of sound that knows where it was left."""

    title = "Tone"

    def __init__(self) -> None:
        self.begun_at: list[int] = []
        self.at = 0

    async def chunks(self, turn_id: int) -> AsyncIterator[Chunk]:
        self.begun_at.append(self.at)
        for _ in range(self.at // 600, 100):
            yield AudioOut(turn_id, bytes(RATE * 2 * 6 // 10), RATE)

    def left(self, ms: int) -> None:
        self.at += ms


def conversation(*words: str) -> Conversation:
    return Conversation(
        asr=ScriptedASR(list(words), delay=0.1),
        agent=ScriptedAgent(lambda text: ("Yes.",)),
        tts=ScriptedTTS(),
    )


@on_virtual_time
async def test_words_come_in_between_at_once() -> None:
    talk, tone = conversation(), Tone()
    async with talk.running() as running:
        assert running.session is not None
        handle = SpeechHandle.of_sound(tone)
        running.session._offer(handle)
        await asyncio.sleep(5.0)
        said = running.session.say("Dinner.", priority=Priority.LOW)
        assert (await said.played()).status is SpeechStatus.PLAYED
        await asyncio.sleep(5.0)
        assert len(tone.begun_at) == 2
        assert 4_000 < tone.begun_at[1] < 6_000
        assert not handle.done


@pytest.mark.parametrize("words", ["stop", "stop it"])
@on_virtual_time
async def test_stop_ends_it_and_no_agent_is_asked(words: str) -> None:
    talk, tone = conversation(), Tone()
    async with talk.running() as running:
        assert running.session is not None
        handle = SpeechHandle.of_sound(tone)
        running.session._offer(handle)
        await asyncio.sleep(5.0)
        talk.device.put(TextInput(words))
        await asyncio.sleep(10.0)
        assert handle.outcome is not None
        assert handle.outcome.status is SpeechStatus.INTERRUPTED
        assert talk.agent.requests == []
        assert tone.at > 4_000


@pytest.mark.parametrize("ends", [Abort(), DeviceAsleep()])
@on_virtual_time
async def test_the_button_and_the_end_of_the_conversation_end_it(ends: Chunk) -> None:
    talk, tone = conversation(), Tone()
    async with talk.running() as running:
        assert running.session is not None
        handle = SpeechHandle.of_sound(tone)
        running.session._offer(handle)
        await asyncio.sleep(5.0)
        talk.device.put(ends)
        await asyncio.sleep(20.0)
        assert handle.done
        assert len(tone.begun_at) == 1


@on_virtual_time
async def test_a_turn_by_voice_is_answered_and_it_goes_on_where_it_was() -> None:
    talk, tone = conversation("what time is it"), Tone()
    async with talk.running() as running:
        assert running.session is not None
        talk.listen(ListenMode.REALTIME)
        running.session._offer(SpeechHandle.of_sound(tone))
        await asyncio.sleep(5.0)
        await talk.device.play(speech(0.8) + silence(1.2))
        await asyncio.sleep(10.0)
        assert len(talk.agent.requests) == 1
        assert len(tone.begun_at) == 2
        assert 4_000 < tone.begun_at[1] < 7_000
        assert running.session.state == "speaking"


@on_virtual_time
async def test_behind_a_wake_word_the_user_has_time_to_speak() -> None:
    talk, tone = conversation(), Tone()
    async with talk.running() as running:
        assert running.session is not None
        running.session._offer(SpeechHandle.of_sound(tone))
        await asyncio.sleep(5.0)
        talk.device.put(Abort("wake_word_detected"))
        await asyncio.sleep(2.5)
        assert len(tone.begun_at) == 1
        await asyncio.sleep(1.5)
        assert len(tone.begun_at) == 2
