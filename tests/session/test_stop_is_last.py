"""After an interruption ``tts stop`` is the last message: no packet of the cut reply follows it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import Abort, TextInput
from vixio.testing import ManualConnection, ScriptedAgent, ScriptedTTS

LONG = "One two three four five six seven eight. Nine ten eleven twelve thirteen fourteen."

PACKET_S = 0.06

TIMER_RESOLUTION_S = 5e-10
"""Timers that are due within twice this time fire in the same iteration, the earliest first."""


class YieldingConnection(ManualConnection):
    """A carrier whose sends let other tasks run before the message is on the wire."""

    async def send_audio(self, packets: Sequence[bytes], timestamp_ms: int) -> None:
        """Record the packets some loop iterations later."""
        for _ in range(5):
            await asyncio.sleep(0)
        await super().send_audio(packets, timestamp_ms)


def storyteller(device: ManualConnection) -> Conversation:
    agent = ScriptedAgent(lambda text: ("Short.",) if text == "next" else (LONG,))
    return Conversation(agent=agent, tts=ScriptedTTS(), device=device)


async def interrupt_at_a_packet(talk: Conversation, steps: int) -> None:
    """Interrupt ``steps`` loop iterations from the moment at which a packet is due.

    The carrier reads the interruption in the loop iteration in which the pacer's timer fires, just
    ahead of it: reading comes before timers.
    """
    loop = asyncio.get_running_loop()
    talk.device.put(TextInput("talk"))
    last = await talk.device.wait_for("audio", 10)
    due = last.at + PACKET_S - TIMER_RESOLUTION_S

    def interrupt(left: int) -> None:
        if left:
            loop.call_soon(interrupt, left - 1)
        else:
            talk.device.put(Abort("wake_word_detected"))

    loop.call_at(due, interrupt, steps)
    await talk.device.wait_for("stop")
    await asyncio.sleep(1)


@pytest.mark.parametrize("device", [ManualConnection, YieldingConnection])
@pytest.mark.parametrize("steps", range(6))
@on_virtual_time
async def test_no_packet_follows_the_stop(device: type[ManualConnection], steps: int) -> None:
    talk = storyteller(device())
    async with talk.running():
        await interrupt_at_a_packet(talk, steps)
        kinds = [sent.kind for sent in talk.device.sent]
        assert kinds[-1] == "stop"
        assert kinds.count("stop") == 1
        talk.device.put(TextInput("next"))
        await talk.device.wait_for("stop", 2)
        assert talk.device.texts()[-1] == "Short."
