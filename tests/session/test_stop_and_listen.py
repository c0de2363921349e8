"""No ``tts stop`` follows the ``listen start`` of a device: it has left Speaking by itself."""

from __future__ import annotations

import asyncio

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from vixio.core.chunk import Abort, ListenMode, ListenStart, TextInput
from vixio.core.session.endings import CROSSING_S, HOLD_S
from vixio.core.turns.floor import WAKE_WINDOW_S
from vixio.testing import ScriptedAgent

LONG = "One two three four five six seven eight. Nine ten eleven twelve thirteen fourteen."


async def speaking(talk: Conversation) -> None:
    talk.device.put(TextInput("talk"))
    await talk.device.wait_for("audio")
    await asyncio.sleep(WAKE_WINDOW_S + CROSSING_S)  # a start is a new one then


def conversation() -> Conversation:
    return Conversation(agent=ScriptedAgent(lambda text: (LONG,) if text == "talk" else ("Fine.",)))


@pytest.mark.parametrize("mode", list(ListenMode))
@pytest.mark.parametrize("aborts", [False, True])
@pytest.mark.parametrize("apart", [0.0, HOLD_S / 2])
@on_virtual_time
async def test_none_follows_a_start(mode: ListenMode, aborts: bool, apart: float) -> None:
    talk = conversation()
    async with talk.running():
        await speaking(talk)
        if aborts:
            talk.device.put(Abort())
            await asyncio.sleep(apart)
        talk.device.put(ListenStart(mode))
        await asyncio.sleep(2)
        # A device may repeat a start of another mode while it speaks.
        stops = 0 if aborts or mode is ListenMode.MANUAL else 1
        assert len(talk.device.all("stop")) == stops
        talk.device.put(TextInput("more"))
        await talk.device.wait_for("stop", stops + 1)
        assert talk.device.texts()[-1] == "Fine."


@on_virtual_time
async def test_one_follows_an_abort_alone() -> None:
    """The chat button: the device speaks until then."""
    talk = conversation()
    async with talk.running():
        await speaking(talk)
        talk.device.put(Abort())
        await asyncio.sleep(HOLD_S + 0.01)
        assert len(talk.device.all("stop")) == 1
        await asyncio.sleep(2)
        assert len(talk.device.all("stop")) == 1


@pytest.mark.parametrize("aborts", [False, True])
@on_virtual_time
async def test_one_follows_a_start_that_crossed_the_speech(aborts: bool) -> None:
    """The device had not begun to speak when it sent its start, and does now."""
    talk = conversation()
    async with talk.running():
        assert talk.session is not None
        talk.session.say(LONG)
        await talk.device.wait_for("start")
        talk.device.put(*([Abort()] if aborts else []), ListenStart(ListenMode.MANUAL))
        await asyncio.sleep(2)
        assert len(talk.device.all("stop")) == 1


@on_virtual_time
async def test_the_next_speech_follows_a_stop_that_was_held() -> None:
    talk = conversation()
    async with talk.running():
        await speaking(talk)
        talk.device.put(Abort(), TextInput("more"))
        await talk.device.wait_for("stop", 2)
        kinds = [sent.kind for sent in talk.device.sent if sent.kind in {"start", "stop"}]
        assert kinds == ["start", "stop"] * 2
