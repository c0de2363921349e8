"""What the user says over a speech that wants no answer: "mhm", "stop"."""

from __future__ import annotations

import asyncio

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import ListenMode, TextInput
from vixio.core.history import AssistantMessage, UserMessage
from vixio.core.turns.interruption import CutAtVoice, InterruptionFactory, PauseAtVoice
from vixio.core.turns.remarks import LISTENING, STOPPING, Remark, remark
from vixio.testing import ScriptedAgent, ScriptedASR, silence, speech

STORY = "Once upon a time there was a very small dragon. It was afraid of mice, and of the dark."


def telling(heard: str, policy: InterruptionFactory) -> Conversation:
    agent = ScriptedAgent(lambda text: (STORY,) if text == "tell me" else (f"You said {text}.",))
    return Conversation(asr=ScriptedASR([heard], delay=0.2), agent=agent, interruption=policy)


async def interrupted(talk: Conversation, mode: ListenMode = ListenMode.REALTIME) -> None:
    """Let the user speak for 0.4 s over the story, and wait for what comes of it."""
    talk.listen(mode)
    talk.device.put(TextInput("tell me"))
    await talk.device.wait_for("audio", 8)
    await talk.device.play(speech(0.4) + silence(1.2))
    await talk.device.wait_for("stop")
    await asyncio.sleep(4)


@on_virtual_time
async def test_a_speech_goes_on_behind_a_sign_that_the_user_listens() -> None:
    talk = telling("Mhm.", PauseAtVoice)
    async with talk.running():
        await interrupted(talk)
        assert talk.history.items() == [UserMessage("tell me"), AssistantMessage(STORY)]
        kinds = [each.kind for each in talk.device.sent if each.kind in ("start", "stop")]
        assert kinds == ["start", "stop", "start", "stop"], "silent while the user was heard"
        assert [turn.outcome for turn in talk.ended] == ["answered"]
        assert talk.counters.get("turn.remarks") == 1


@pytest.mark.parametrize("policy", [CutAtVoice, PauseAtVoice])
@on_virtual_time
async def test_a_speech_that_is_to_stop_stops_and_nothing_is_said_of_it(
    policy: InterruptionFactory,
) -> None:
    talk = telling("Stop, please!", policy)
    async with talk.running():
        await interrupted(talk)
        user, told = talk.history.items()
        assert user == UserMessage("tell me")
        assert isinstance(told, AssistantMessage)
        assert 0 < len(told.text) < len(STORY)
        assert len(talk.device.all("stop")) == len(talk.device.all("start"))
        assert [request.text for request in talk.agent.requests] == ["tell me"]
        assert talk.session is not None
        assert talk.session.state == "listening"
        talk.asr.script[:] = ["and now"]
        stops = len(talk.device.all("stop"))
        await talk.say()
        await talk.device.wait_for("stop", stops + 1)
        assert talk.device.texts()[-1] == "You said and now."


@on_virtual_time
async def test_the_same_words_are_a_turn_where_nothing_is_spoken() -> None:
    for heard in ("mhm", "stop"):
        talk = telling(heard, PauseAtVoice)
        async with talk.running():
            talk.listen(ListenMode.REALTIME)
            await talk.say()
            await talk.device.wait_for("stop")
            assert talk.device.texts() == [f"You said {heard}."]


@on_virtual_time
async def test_more_words_are_a_turn() -> None:
    talk = telling("stop the music", PauseAtVoice)
    async with talk.running():
        await interrupted(talk)
        assert talk.device.texts()[-1] == "You said stop the music."


@pytest.mark.parametrize("language", LISTENING)
def test_each_language_has_both(language: str) -> None:
    assert all(remark(text, language) is Remark.LISTENS for text in LISTENING[language])
    assert all(remark(text.upper(), language) is Remark.STOP for text in STOPPING[language])
    assert remark(f"{STOPPING[language][0]}?!", f"{language}-XX") is Remark.STOP


def test_what_may_answer_a_question_is_no_remark() -> None:
    for text, language in (("yes", "en"), ("okay", "en"), ("好", "zh"), ("ja", "de"), ("네", "ko")):
        assert remark(text, language) is None
    assert remark("stop", "sw") is None, "not known there"
