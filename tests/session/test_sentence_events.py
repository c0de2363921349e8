"""Each sentence of a speech is published when the device is told to show it."""

from __future__ import annotations

import asyncio

import pytest

from tests.session.conversation import TIMEOUTS, Conversation, on_virtual_time
from vixio.core.chunk import Abort, TextInput
from vixio.core.session.events import SpeechInterrupted, SpeechPlayed, SpeechSentence, SpeechStarted
from vixio.core.session.settings import SessionSettings
from vixio.testing import ScriptedAgent, ScriptedTTS

FIRST, SECOND = "Here is the first sentence.", "And there is one more."
FILLER_AFTER_S = 1.0


def conversation(delay: float = 0.0) -> Conversation:
    return Conversation(
        agent=ScriptedAgent(lambda text: (delay, FIRST, " ", SECOND)),
        tts=ScriptedTTS(delay=0.1),
        settings=SessionSettings(timeouts=TIMEOUTS, filler_after=FILLER_AFTER_S),
    )


def sentences(talk: Conversation) -> list[SpeechSentence]:
    return [event for event in talk.happened if isinstance(event, SpeechSentence)]


@on_virtual_time
async def test_sentences_are_published_as_they_are_heard() -> None:
    talk = conversation()
    async with talk.running():
        talk.device.put(TextInput("hello"))
        await talk.device.wait_for("stop")
        found = sentences(talk)
        assert [(event.text, event.filler) for event in found] == [(FIRST, False), (SECOND, False)]
        shown = [sent.at for sent in talk.device.sent if sent.kind == "sentence"]
        assert [event.at for event in found] == pytest.approx(shown, abs=0.001)
        assert found[1].at - found[0].at > 0.5
        kinds = [type(event) for event in talk.happened]
        assert kinds.index(SpeechStarted) < kinds.index(SpeechSentence) < kinds.index(SpeechPlayed)
        (played,) = [event for event in talk.happened if isinstance(event, SpeechPlayed)]
        assert played.text == f"{FIRST} {SECOND}"
        assert {event.turn_id for event in found} == {played.turn_id}


@on_virtual_time
async def test_a_filler_is_published_as_one() -> None:
    talk = conversation(delay=3.0)
    async with talk.running():
        talk.device.put(TextInput("hello"))
        await talk.device.wait_for("stop")
        filler, *answer = sentences(talk)
        assert filler.filler
        assert filler.text == talk.device.texts()[0]
        assert [event.text for event in answer] == [FIRST, SECOND]
        assert not any(event.filler for event in answer)


@pytest.mark.parametrize("after", [0.0, 0.05, 0.5, 1.0])
@on_virtual_time
async def test_no_sentence_is_published_after_the_cut(after: float) -> None:
    talk = conversation()
    async with talk.running():
        talk.device.put(TextInput("hello"))
        await talk.device.wait_for("audio")
        await asyncio.sleep(after)
        talk.device.put(Abort())
        await talk.device.wait_for("stop")
        await asyncio.sleep(10)
        kinds = [type(event) for event in talk.happened]
        assert kinds.count(SpeechInterrupted) == 1
        assert SpeechSentence not in kinds[kinds.index(SpeechInterrupted) :]
        (cut,) = [event for event in talk.happened if isinstance(event, SpeechInterrupted)]
        assert len(cut.heard) < len(FIRST) + len(SECOND)
