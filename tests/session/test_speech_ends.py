"""How speeches on command end: cut before they begin, failed, refused, their device gone."""

from __future__ import annotations

import asyncio

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.history import AssistantMessage
from vixio.core.session import events
from vixio.core.session.session import Session
from vixio.core.session.speech import Priority, SpeechHandle, SpeechOutcome, SpeechStatus
from vixio.core.tools.local import func_to_tool_definition
from vixio.testing import ScriptedAgent, ToolUse
from vixio.tools.runtime import ToolRuntime
from vixio.tools.source import FixedSource

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
