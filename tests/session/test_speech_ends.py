"""How speeches on command end: cut before they begin, failed, refused, their device gone."""

from __future__ import annotations

import asyncio

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import TextInput
from vixio.core.device import DeviceProfile
from vixio.core.errors import ConnectionClosed
from vixio.core.history import AssistantMessage, UserMessage
from vixio.core.session import events
from vixio.core.session.session import MAX_SPEECHES, Session
from vixio.core.session.speech import Priority, SpeechHandle, SpeechOutcome, SpeechStatus
from vixio.core.session.speech_queue import MAX_WAITING
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.source import FixedSource
from vixio.testing import ManualConnection, ScriptedAgent, ScriptedTTS, ToolUse

NEWS = "The washing machine is done."


def session(talk: Conversation) -> Session:
    assert talk.session is not None
    return talk.session


async def end_of(handle: SpeechHandle) -> SpeechOutcome:
    """Wait for the end, for a bounded time."""
    async with asyncio.timeout(60):
        return await handle.played()


def failures(talk: Conversation) -> list[events.Failure]:
    return [event for event in talk.happened if isinstance(event, events.Failure)]


@on_virtual_time
async def test_a_question_taken_back_at_once_runs_no_tool() -> None:
    opened: list[str] = []

    async def unlock() -> str:
        """Unlock the door."""
        opened.append("door")
        return "unlocked"

    source = FixedSource("here", [func_to_tool_definition(unlock)])
    talk = Conversation(
        agent=ScriptedAgent(lambda text: (ToolUse("unlock", {}), "Done.")),
        runtime=ToolRuntime([source]),
    )
    async with talk.running():
        handle = session(talk).ask("unlock")
        handle.cancel()
        assert not (await end_of(handle)).heard
        await asyncio.sleep(5)
        assert opened == []
        assert talk.agent.requests == []
        assert talk.history.items() == []
        assert failures(talk) == []


@on_virtual_time
async def test_a_speech_interrupted_at_once_leaves_nothing() -> None:
    talk = Conversation()
    async with talk.running():
        handle = session(talk).say(NEWS)
        session(talk).interrupt()
        assert await end_of(handle) == SpeechOutcome(SpeechStatus.INTERRUPTED)
        await asyncio.sleep(5)
        assert talk.tts.spoken == []
        assert talk.history.items() == []
        assert talk.device.sent == []
        assert failures(talk) == []


@on_virtual_time
async def test_of_two_urgent_speeches_the_second_alone_is_said() -> None:
    talk = Conversation()
    async with talk.running():
        first = session(talk).say("Smoke in the attic.", priority=Priority.HIGH)
        second = session(talk).say("Leave the house.", priority=Priority.HIGH)
        assert await end_of(first) == SpeechOutcome(SpeechStatus.INTERRUPTED)
        assert (await end_of(second)).status is SpeechStatus.PLAYED
        await talk.device.wait_for("stop")
        assert talk.tts.spoken == ["Leave the house."]
        assert talk.history.items() == [AssistantMessage("Leave the house.")]
        assert talk.device.all("alert") == []
        assert failures(talk) == []


@pytest.mark.parametrize("steps", range(10))
@on_virtual_time
async def test_a_speech_said_while_the_session_ends_is_dropped(steps: int) -> None:
    """``steps`` of the event loop after the device vanished in the middle of a reply."""
    talk = Conversation()
    async with talk.running():
        session(talk).say("One two three four five six seven eight.")
        await talk.device.wait_for("audio", 3)
        talk.device.vanish()
        for _ in range(steps):
            await asyncio.sleep(0)
        handle = session(talk).say(NEWS)
    assert await end_of(handle) == SpeechOutcome(SpeechStatus.DROPPED)


@on_virtual_time
async def test_a_speech_that_cannot_be_sent_is_dropped() -> None:
    """Writing fails before anything was heard; reading has not noticed yet."""

    class Broken(ManualConnection):
        async def send_emotion(self, name: str, emoji: str) -> None:
            raise ConnectionClosed("the device is gone")

    talk = Conversation(device=Broken())
    async with talk.running():
        handle = session(talk).say("😀 Hello there.")
        assert await end_of(handle) == SpeechOutcome(SpeechStatus.DROPPED)


@on_virtual_time
async def test_an_urgent_speech_over_a_connection_that_fails_is_dropped() -> None:
    """It cuts the running reply, whose ``tts stop`` cannot be sent any more."""
    talk = Conversation()
    async with talk.running():
        session(talk).say("One two three four five six seven eight.")
        await talk.device.wait_for("audio", 3)
        talk.device.closed = True
        handle = session(talk).say(NEWS, priority=Priority.HIGH)
    assert await end_of(handle) == SpeechOutcome(SpeechStatus.DROPPED)


@on_virtual_time
async def test_commands_do_not_pile_up_behind_a_stalled_connection() -> None:
    resumed = asyncio.Event()

    class Stalled(ManualConnection):
        async def send_transcript(self, text: str) -> None:
            await resumed.wait()

    talk = Conversation(device=Stalled())
    async with talk.running():
        talk.device.put(TextInput("hello"))
        await asyncio.sleep(1)
        handles = []
        for _ in range(1000):
            handles.append(session(talk).say(NEWS))
            handles[-1].cancel()
            handles[-1].cancel()
            session(talk).interrupt()
            session(talk).reconfigure(DeviceProfile())
        assert len(session(talk)._inbox) <= 4 * MAX_SPEECHES
        refused = [handle for handle in handles if handle.done]
        assert len(refused) == 1000 - MAX_SPEECHES
        assert {handle.outcome for handle in refused} == {SpeechOutcome(SpeechStatus.DROPPED)}
        assert talk.counters.get("session.speech_refused") == len(refused)
        resumed.set()
        for handle in handles:
            await end_of(handle)
        assert (await end_of(session(talk).say(NEWS))).status is SpeechStatus.PLAYED


@on_virtual_time
async def test_a_speech_too_many_for_the_queue_is_refused_and_counted() -> None:
    talk = Conversation()
    async with talk.running():
        handles = [session(talk).say(NEWS) for _ in range(MAX_WAITING + 2)]
        assert await end_of(handles[-1]) == SpeechOutcome(SpeechStatus.DROPPED)
        assert [handle.done for handle in handles].count(True) == 1
        assert talk.counters.get("session.speech_refused") == 1


FIRST, SECOND = "The first part is here.", "The second part is missing."


@pytest.mark.parametrize("asked", [False, True])
@on_virtual_time
async def test_what_a_failed_voice_did_not_say_is_not_remembered(asked: bool) -> None:
    """What was heard of it is, without the apology."""
    error = RuntimeError("no voice")
    talk = Conversation(
        agent=ScriptedAgent(lambda text: (f"{FIRST} {SECOND}",)),
        tts=ScriptedTTS(error=error, error_on="second"),
    )
    async with talk.running():
        user = [UserMessage("talk")] if asked else []
        begin = session(talk).ask if asked else session(talk).say
        handle = begin("talk" if asked else f"{FIRST} {SECOND}")
        assert await end_of(handle) == SpeechOutcome(SpeechStatus.FAILED, FIRST)
        assert talk.device.texts()[-1] == "Please try again."
        assert talk.history.items() == [*user, AssistantMessage(FIRST)]


@pytest.mark.parametrize("asked", [False, True])
@on_virtual_time
async def test_what_a_broken_voice_cannot_say_is_not_remembered(asked: bool) -> None:
    talk = Conversation(tts=ScriptedTTS(error=RuntimeError("no voice")))
    async with talk.running():
        handle = session(talk).ask("hello") if asked else session(talk).say(NEWS)
        assert await end_of(handle) == SpeechOutcome(SpeechStatus.FAILED)
        assert talk.history.items() == ([UserMessage("hello")] if asked else [])


@on_virtual_time
async def test_an_apology_that_is_cut_is_not_remembered() -> None:
    talk = Conversation(tts=ScriptedTTS(error=RuntimeError("no voice"), error_on="machine"))
    async with talk.running():
        handle = session(talk).say(NEWS)
        await talk.device.wait_for("audio", 10)
        session(talk).interrupt()
        assert await end_of(handle) == SpeechOutcome(SpeechStatus.FAILED)
        assert talk.history.items() == []
