"""Commands into a running session: say, ask, interrupt, close."""

from __future__ import annotations

import asyncio

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import Abort, ListenMode, ListenStop, TextInput
from vixio.core.clock import now
from vixio.core.history import AssistantMessage, UserMessage
from vixio.core.session import events
from vixio.core.session.session import Session
from vixio.core.session.speech import Priority, SpeechOutcome, SpeechStatus
from vixio.core.session.speech_queue import MAX_WAITING, QUIET_S
from vixio.core.turns.interruption import PauseAtVoice
from vixio.testing import ScriptedAgent, ScriptedASR, ScriptedTTS, silence, speech

STORY = "One two three four five six seven eight. Nine ten eleven twelve thirteen fourteen."
NEWS = "The washing machine is done."


def talking(*outcomes: str) -> Conversation:
    agent = ScriptedAgent(lambda text: (0.5, STORY) if text == "talk" else ("Well.",))
    return Conversation(
        asr=ScriptedASR(list(outcomes) or ["talk"], delay=0.2),
        agent=agent,
        tts=ScriptedTTS(delay=0.1),
    )


def session(talk: Conversation) -> Session:
    assert talk.session is not None
    return talk.session


@pytest.mark.parametrize("priority", Priority)
@pytest.mark.parametrize("listening", [False, True])
@on_virtual_time
async def test_said_while_nothing_happens(priority: Priority, listening: bool) -> None:
    talk = talking()
    async with talk.running():
        if listening:
            talk.listen()
        await asyncio.sleep(QUIET_S)
        asked_at = now()
        handle = session(talk).say(NEWS, priority=priority)
        outcome = await handle.played()
        assert outcome == SpeechOutcome(SpeechStatus.PLAYED, NEWS)
        assert handle.heard == NEWS
        assert talk.device.all("start")[0].at - asked_at < 0.2
        assert talk.device.texts() == [NEWS]
        await talk.device.wait_for("stop")
        assert list(talk.history.items()) == [AssistantMessage(NEWS)]


@pytest.mark.parametrize("priority", Priority)
@on_virtual_time
async def test_said_while_the_user_speaks(priority: Priority) -> None:
    """It waits for the user's words and for the answer to them."""
    talk = talking("hello")
    async with talk.running():
        talk.listen()
        saying = asyncio.create_task(talk.say(2.0))
        await asyncio.sleep(1.0)
        assert session(talk).user_speaking
        handle = session(talk).say(NEWS, priority=priority)
        await saying
        assert (await handle.played()).status is SpeechStatus.PLAYED
        assert talk.device.texts() == ["Well.", NEWS]
        await talk.device.wait_for("stop", 2)
        assert list(talk.history.items()) == [
            UserMessage("hello"),
            AssistantMessage("Well."),
            AssistantMessage(NEWS),
        ]


@pytest.mark.parametrize("stage", ["thinking", "speaking"])
@pytest.mark.parametrize("priority", Priority)
@on_virtual_time
async def test_said_into_a_reply(priority: Priority, stage: str) -> None:
    talk = talking()
    async with talk.running():
        talk.device.put(TextInput("talk"))
        if stage == "speaking":
            await talk.device.wait_for("audio", 10)
        else:
            await asyncio.sleep(0.2)
        assert session(talk).state == stage
        handle = session(talk).say(NEWS, priority=priority)
        began = now()
        assert (await handle.played()).status is SpeechStatus.PLAYED
        await talk.device.wait_for("stop", 1)
        if priority is Priority.HIGH:
            assert now() - began < 3.0
            assert talk.device.texts()[-1] == NEWS
            assert "Nine ten eleven twelve thirteen fourteen." not in talk.device.texts()
            return
        assert talk.device.texts() == [
            "One two three four five six seven eight.",
            "Nine ten eleven twelve thirteen fourteen.",
            NEWS,
        ]
        stopped, started = talk.device.all("stop")[0].at, talk.device.all("start")[1].at
        pause = started - stopped
        assert pause >= QUIET_S if priority is Priority.LOW else pause < 0.3


@on_virtual_time
async def test_priorities_before_arrival() -> None:
    talk = talking()
    async with talk.running():
        talk.device.put(TextInput("talk"))
        await talk.device.wait_for("audio")
        low = session(talk).say("Low.", priority=Priority.LOW)
        session(talk).say("First.")
        session(talk).say("Second.")
        await low.played()
        assert talk.device.texts()[2:] == ["First.", "Second.", "Low."]


@on_virtual_time
async def test_a_question_on_command_is_answered() -> None:
    talk = talking()
    async with talk.running():
        handle = session(talk).ask("hello")
        assert await handle.played() == SpeechOutcome(SpeechStatus.PLAYED, "Well.")
        assert list(talk.history.items()) == [UserMessage("hello"), AssistantMessage("Well.")]
        assert [request.text for request in talk.agent.requests] == ["hello"]


@on_virtual_time
async def test_what_was_heard_of_a_speech_that_is_cut() -> None:
    talk = talking()
    async with talk.running():
        handle = session(talk).say(STORY)
        await talk.device.wait_for("audio", 30)
        assert 0 < len(handle.heard) < len(STORY)
        session(talk).interrupt()
        outcome = await handle.played()
        assert outcome.status is SpeechStatus.INTERRUPTED
        assert STORY.startswith(outcome.heard[:20])
        assert list(talk.history.items()) == [AssistantMessage(outcome.heard)]
        await talk.device.wait_for("stop")
        assert len(talk.device.all("stop")) == 1


@on_virtual_time
async def test_an_interruption_of_nothing_does_nothing() -> None:
    talk = talking()
    async with talk.running():
        session(talk).interrupt()
        await asyncio.sleep(0.1)
        assert talk.device.sent == []


@pytest.mark.parametrize("interruptible", [True, False])
@on_virtual_time
async def test_the_users_voice_over_a_speech(interruptible: bool) -> None:
    talk = talking("hello")
    async with talk.running():
        talk.listen(ListenMode.REALTIME)
        handle = session(talk).say(STORY, interruptible=interruptible)
        await talk.device.wait_for("audio")
        await talk.device.play(silence(0.3) + speech(0.6) + silence(0.8))
        outcome = await handle.played()
        await talk.device.wait_for("stop", 2)
        if interruptible:
            assert outcome.status is SpeechStatus.INTERRUPTED
        else:
            assert outcome == SpeechOutcome(SpeechStatus.PLAYED, STORY)
        # Either way the user is answered, once.
        assert talk.device.texts()[-1] == "Well."
        assert [request.text for request in talk.agent.requests] == ["hello"]


@on_virtual_time
async def test_a_button_cuts_even_what_a_voice_does_not() -> None:
    talk = talking()
    async with talk.running():
        handle = session(talk).say(STORY, interruptible=False)
        await talk.device.wait_for("audio", 10)
        talk.device.put(Abort("wake_word_detected"))
        assert (await handle.played()).status is SpeechStatus.INTERRUPTED


@on_virtual_time
async def test_a_speech_gives_way_to_a_user_before_it_is_heard() -> None:
    talk = talking("hello")
    talk.tts = ScriptedTTS(delay=1.0)
    async with talk.running():
        talk.listen()
        handle = session(talk).say(NEWS)
        # The user begins before the voice has made its first sound.
        await talk.say(0.8)
        assert (await handle.played()).status is SpeechStatus.PLAYED
        assert talk.device.texts() == ["Well.", NEWS]


@on_virtual_time
async def test_a_pause_ends_with_the_speech_played_on() -> None:
    """A cough holds the speech; it goes on where it was."""
    talk = talking()
    talk.asr = ScriptedASR([""], delay=0.2)
    talk.interruption = PauseAtVoice
    async with talk.running():
        talk.listen(ListenMode.REALTIME)
        handle = session(talk).say(STORY)
        await talk.device.wait_for("audio", 5)
        coughing = asyncio.create_task(talk.device.play(speech(0.4) + silence(1.0)))
        await asyncio.sleep(0.35)
        assert session(talk).state == "paused"
        sent = len(talk.device.all("audio"))
        await asyncio.sleep(0.3)
        assert len(talk.device.all("audio")) == sent
        await coughing
        assert await handle.played() == SpeechOutcome(SpeechStatus.PLAYED, STORY)
        assert talk.counters.get("pacer.starved") == 0
        kinds = [each.kind for each in talk.device.sent if each.kind in ("start", "stop")]
        assert kinds == ["start", "stop", "start", "stop"]
        states = [event.after for event in talk.happened if isinstance(event, events.StateChanged)]
        assert states == ["thinking", "speaking", "paused", "speaking", "listening"]


@on_virtual_time
async def test_a_pause_ends_with_the_users_turn() -> None:
    talk = talking("hello")
    talk.interruption = PauseAtVoice
    async with talk.running():
        talk.listen(ListenMode.REALTIME)
        handle = session(talk).say(STORY)
        await talk.device.wait_for("audio", 5)
        await talk.device.play(speech(0.6) + silence(1.0))
        outcome = await handle.played()
        assert outcome.status is SpeechStatus.INTERRUPTED
        assert len(outcome.heard) < len(STORY)
        await talk.device.wait_for("stop", 2)
        assert talk.device.texts()[-1] == "Well."


@on_virtual_time
async def test_a_speech_that_waits_or_plays_can_be_taken_back() -> None:
    talk = talking()
    async with talk.running():
        playing = session(talk).say(STORY)
        waiting = session(talk).say(NEWS)
        await talk.device.wait_for("audio", 5)
        waiting.cancel()
        playing.cancel()
        assert (await waiting.played()).status is SpeechStatus.DROPPED
        assert (await playing.played()).status is SpeechStatus.INTERRUPTED
        playing.cancel()
        await asyncio.sleep(1)
        assert NEWS not in talk.device.texts()


@on_virtual_time
async def test_a_failing_voice_fails_the_speech() -> None:
    talk = talking()
    talk.tts = ScriptedTTS(error=RuntimeError("no voice"))
    async with talk.running():
        handle = session(talk).say(NEWS)
        assert (await handle.played()).status is SpeechStatus.FAILED
        assert any(isinstance(event, events.Failure) for event in talk.happened)


@on_virtual_time
async def test_the_end_of_the_session_settles_every_speech() -> None:
    talk = talking()
    async with talk.running():
        playing = session(talk).say(STORY)
        waiting = [session(talk).say(NEWS) for _ in range(MAX_WAITING)]
        await talk.device.wait_for("audio", 5)
        await session(talk).close("enough")
        outcome = await playing.played()
        assert outcome.status is SpeechStatus.INTERRUPTED
        for handle in waiting:
            assert (await handle.played()).status is SpeechStatus.DROPPED
    late = session(talk).say(NEWS)
    assert (await late.played()).status is SpeechStatus.DROPPED
    assert talk.device.all("close")[0].text == "1000 enough"


@on_virtual_time
async def test_words_that_are_none_are_not_said() -> None:
    talk = talking()
    async with talk.running():
        assert session(talk).say(" \n").done
        assert session(talk).ask("").done
        await asyncio.sleep(0.1)
        assert talk.device.sent == []


@on_virtual_time
async def test_a_speech_behind_push_to_talk() -> None:
    talk = talking("hello")
    async with talk.running():
        talk.listen(ListenMode.MANUAL)
        playing = asyncio.create_task(talk.device.play(silence(0.2) + speech(0.6)))
        await asyncio.sleep(0.3)
        handle = session(talk).say(NEWS)
        await playing
        assert not handle.done
        assert talk.device.all("start") == []
        talk.device.put(ListenStop())
        await handle.played()
        assert talk.device.texts() == ["Well.", NEWS]
