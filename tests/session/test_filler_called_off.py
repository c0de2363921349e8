"""A reply that is cut about when its filler is due: nothing of it follows its ``tts stop``.

The agent goes on for a while after it was cancelled, and with it the reply's task.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.session.conversation import TIMEOUTS, Conversation, on_virtual_time
from vixio.core.chunk import Abort, TextDelta, TextInput
from vixio.core.session.events import SpeechStarted
from vixio.core.session.settings import SessionSettings
from vixio.core.turns.floor import WAKE_WINDOW_S
from vixio.providers.agent import AgentEvent, AgentRequest
from vixio.testing import ScriptedAgent, ScriptedTTS

FILLER_AFTER_S = 2.0
VOICE_S = 0.25
"""The voice's delay: the filler is ready this much later than it is due."""

TIMER_RESOLUTION_S = 5e-10
"""Timers that are due within twice this time fire in the same iteration, the earliest first."""


class StubbornAgent(ScriptedAgent):
    """Never answers "wait", and ignores its cancellation for three seconds."""

    async def reply(self, request: AgentRequest) -> AsyncIterator[AgentEvent]:
        """Answer after the cancellation, when nobody listens any more."""
        if request.text != "wait":
            async for event in super().reply(request):
                yield event
            return
        self.requests.append(request)
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            await asyncio.sleep(3)
        yield TextDelta(request.turn_id, "Nobody wants to hear this any more.")


def conversation() -> Conversation:
    return Conversation(
        agent=StubbornAgent(),
        tts=ScriptedTTS(delay=VOICE_S),
        settings=SessionSettings(timeouts=TIMEOUTS, filler_after=FILLER_AFTER_S),
    )


@pytest.mark.parametrize("steps", range(16))
@on_virtual_time
async def test_no_start_follows_the_stop(steps: int) -> None:
    """Aborted ``steps`` loop iterations from the moment at which the filler's audio is there."""
    talk = conversation()
    loop = asyncio.get_running_loop()

    def abort(left: int) -> None:
        if left:
            loop.call_soon(abort, left - 1)
        else:
            talk.device.put(Abort())

    async with talk.running():
        talk.device.put(TextInput("wait"))
        await asyncio.sleep(0)
        due = loop.time() + FILLER_AFTER_S + VOICE_S - TIMER_RESOLUTION_S
        loop.call_at(due, abort, steps)
        await talk.device.wait_for("stop")
        await asyncio.sleep(10)
        kinds = [sent.kind for sent in talk.device.sent]
        assert kinds[-1] == "stop"
        assert kinds.count("start") <= kinds.count("stop") == 1
        talk.device.put(TextInput("again"))
        await talk.device.wait_for("stop", 2)
        assert talk.device.texts()[-1] == "You said again."


@on_virtual_time
async def test_the_floor_is_not_taken_for_a_filler_of_a_cut_reply() -> None:
    talk = conversation()
    async with talk.running():
        talk.device.put(TextInput("wait"))
        await asyncio.sleep(FILLER_AFTER_S / 2)
        talk.device.put(Abort())
        await talk.device.wait_for("stop")
        await asyncio.sleep(10)
        assert talk.tts.spoken == []
        assert not [each for each in talk.happened if isinstance(each, SpeechStarted)]


@on_virtual_time
async def test_the_next_answer_outlives_the_filler_of_the_cut_reply() -> None:
    """It was being made at the abort, and is ready while the next answer is thought about."""
    talk = conversation()
    async with talk.running():
        talk.device.put(TextInput("wait"))
        await asyncio.sleep(FILLER_AFTER_S + VOICE_S / 2)
        talk.agent.script = lambda text: (3.0, "Here it is.")
        talk.device.put(Abort(), TextInput("next"))
        await asyncio.sleep(WAKE_WINDOW_S + VOICE_S)  # the device's own start is over
        talk.listen()  # cuts what is spoken, but not what is thought about
        await talk.device.wait_for("stop", 2)
        assert [timeline.outcome for timeline in talk.ended] == ["interrupted:abort", "answered"]
