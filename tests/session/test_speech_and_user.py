"""Speeches on command and a user who speaks, coughs or presses the button at the same time."""

from __future__ import annotations

import asyncio

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import ListenMode, ListenStop, TextInput
from vixio.core.clock import now
from vixio.core.history import AssistantMessage, UserMessage
from vixio.core.session import events
from vixio.core.session.session import Session
from vixio.core.session.speech import Priority, SpeechOutcome, SpeechStatus
from vixio.providers.asr import Recognition
from vixio.testing import ScriptedAgent, ScriptedASR, ScriptedTTS, silence, speech

STORY = "One two three four five six seven eight. Nine ten eleven twelve thirteen fourteen."
NEWS = "The washing machine is done."


def talking(*outcomes: str | Recognition | Exception, voice: float = 0.1) -> Conversation:
    """Return a conversation whose recogniser hears ``outcomes``; ``voice``: its latency."""
    return Conversation(
        asr=ScriptedASR(list(outcomes), delay=0.2),
        agent=ScriptedAgent(lambda text: ("Well.",)),
        tts=ScriptedTTS(delay=voice),
    )


def session(talk: Conversation) -> Session:
    assert talk.session is not None
    return talk.session


@pytest.mark.parametrize("mode", [ListenMode.AUTO, ListenMode.REALTIME])
@on_virtual_time
async def test_a_speech_does_not_begin_while_the_user_speaks(mode: ListenMode) -> None:
    """However long that is: here twice the hold of an ordinary reply."""
    talk = talking("a long story", voice=1.0)
    async with talk.running():
        talk.listen(mode)
        handle = session(talk).say(NEWS)
        began = now()
        await talk.say(2 * talk.settings.hold)
        spoken = now() - 0.8  # without the pause behind the words
        assert (await handle.played()).status is SpeechStatus.PLAYED
        assert talk.device.all("start")[0].at >= spoken > began + talk.settings.hold
        assert talk.device.texts() == ["Well.", NEWS]
        await talk.device.wait_for("stop", 2)
        assert talk.history.items() == [
            UserMessage("a long story"),
            AssistantMessage("Well."),
            AssistantMessage(NEWS),
        ]


@on_virtual_time
async def test_a_speech_that_waited_for_a_noise_is_said_once() -> None:
    talk = talking("", voice=1.0)
    async with talk.running():
        talk.listen()
        handle = session(talk).say(NEWS)
        await talk.device.play(silence(0.9) + speech(0.3) + silence(1.0))
        assert (await handle.played()).status is SpeechStatus.PLAYED
        assert talk.tts.spoken == [NEWS]


@pytest.mark.parametrize("stage", ["asr", "vad"])
@on_virtual_time
async def test_a_failure_does_not_cut_what_a_voice_does_not(stage: str) -> None:
    talk = talking(RuntimeError("out of order"))
    async with talk.running():
        talk.listen(ListenMode.REALTIME)
        handle = session(talk).say(STORY, interruptible=False)
        await talk.device.wait_for("audio")
        if stage == "vad":
            talk.vad.error = RuntimeError("out of order")
        await talk.device.play(silence(0.3) + speech(0.6) + silence(0.8))
        talk.vad.error = None
        assert await handle.played() == SpeechOutcome(SpeechStatus.PLAYED, STORY)
        await talk.device.wait_for("stop")
        assert " ".join(talk.device.texts()) == STORY
        failures = [event for event in talk.happened if isinstance(event, events.Failure)]
        assert {failure.stage for failure in failures} == {stage}


@on_virtual_time
async def test_words_over_a_speech_that_an_urgent_one_replaces_are_answered() -> None:
    talk = talking("hello")
    async with talk.running():
        talk.listen(ListenMode.REALTIME)
        story = session(talk).say(STORY, interruptible=False)
        await talk.device.wait_for("audio")
        await talk.device.play(silence(0.3) + speech(0.6) + silence(1.0))
        urgent = session(talk).say(NEWS, priority=Priority.HIGH)
        assert (await story.played()).status is SpeechStatus.INTERRUPTED
        assert (await urgent.played()).status is SpeechStatus.PLAYED
        await talk.device.wait_for("stop", 3)
        assert [request.text for request in talk.agent.requests] == ["hello"]
        assert talk.device.texts()[-2:] == [NEWS, "Well."]


@on_virtual_time
async def test_words_over_such_a_speech_and_behind_it_are_one_turn() -> None:
    talk = talking("hello", "how are you")
    async with talk.running():
        talk.listen(ListenMode.REALTIME)
        session(talk).say(STORY, interruptible=False)
        await talk.device.wait_for("audio")
        await talk.device.play(silence(0.3) + speech(0.6) + silence(1.0))
        session(talk).say(STORY, priority=Priority.HIGH)
        await talk.device.wait_for("start", 2)
        await talk.device.play(silence(0.6) + speech(0.6) + silence(1.0))
        await talk.device.wait_for("stop", 3)
        assert [request.text for request in talk.agent.requests] == ["hello how are you"]


@on_virtual_time
async def test_words_over_a_speech_are_answered_before_the_next_one() -> None:
    talk = talking("hello")
    async with talk.running():
        talk.listen(ListenMode.REALTIME)
        session(talk).say(STORY, interruptible=False)
        last = session(talk).say(NEWS)
        await talk.device.wait_for("audio")
        await talk.device.play(silence(0.3) + speech(0.6) + silence(0.8))
        await last.played()
        assert talk.device.texts()[-2:] == ["Well.", NEWS]


@on_virtual_time
async def test_a_speech_gives_way_to_push_to_talk_before_it_is_heard() -> None:
    talk = talking("hello", voice=1.0)
    async with talk.running():
        handle = session(talk).say(NEWS)
        await asyncio.sleep(0.3)
        talk.listen(ListenMode.MANUAL)
        await talk.device.play(speech(0.6))
        talk.device.put(ListenStop())
        assert (await handle.played()).status is SpeechStatus.PLAYED
        assert talk.device.texts() == ["Well.", NEWS]


@on_virtual_time
async def test_a_speech_gives_way_to_words_that_could_not_be_recognised() -> None:
    talk = talking(RuntimeError("out of order"), voice=1.0)
    async with talk.running():
        talk.listen()
        handle = session(talk).say(NEWS)
        await talk.say(0.8)
        assert (await handle.played()).status is SpeechStatus.PLAYED
        assert talk.device.texts()[0].startswith("Sorry")
        assert talk.device.texts()[-1] == NEWS


@pytest.mark.parametrize("noise", ["", Recognition("", rejected=True)])
@on_virtual_time
async def test_an_urgent_speech_waits_for_a_noise_and_not_for_the_reply(
    noise: str | Recognition,
) -> None:
    talk = talking(noise)
    talk.agent.script = lambda text: (3.0, STORY)
    async with talk.running():
        talk.listen()
        talk.device.put(TextInput("talk"))
        await asyncio.sleep(0.2)
        coughing = asyncio.create_task(talk.device.play(speech(0.2) + silence(1.0)))
        await asyncio.sleep(0.3)
        assert session(talk).user_speaking
        handle = session(talk).say(NEWS, priority=Priority.HIGH)
        await coughing
        assert not session(talk).user_speaking
        assert (await handle.played()).status is SpeechStatus.PLAYED
        assert talk.device.texts() == [NEWS]
        assert now() < 5
