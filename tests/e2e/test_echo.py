"""A device that hears its own loudspeaker and leaves echo cancellation to the server."""

from __future__ import annotations

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well, received, what
from tests.e2e.harness import serving
from tests.support.waiting import until
from vixio.testing import ScriptedAgentBackend, ScriptedASR
from vixio.transports.xiaozhi import transport

STORY = "Once upon a time there was a small server. It spoke to itself. It never came to an end."
ECHO_DB = -6.0


@pytest.fixture(autouse=True)
def without_a_canceller(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the extra `aec`: tests/models/test_echo.py."""
    monkeypatch.setattr(transport, "is_installed", lambda: False)


async def test_it_does_not_interrupt_itself() -> None:
    agent = ScriptedAgentBackend(lambda text: (STORY,) if text == "tell a story" else (f"{text}?",))
    asr = ScriptedASR(["tell a story", "and now", "noise"])
    async with serving(asr=asr, agent=agent) as server:
        config = server.device(mode="realtime", server_aec=True, echo_db=ECHO_DB)
        async with SimulatedDevice(config) as device:
            reply = await device.ask("tell a story")
            assert reply.text == STORY
            assert reply.played_ms > 3_000
            assert_played_well(reply)
            # The microphone goes on: only what the user says is heard of it.
            again = await device.ask("something else")
            assert again.text == "and now?"
            assert_played_well(again)
            assert device.stt_texts == ["tell a story", "and now"]
            assert len(device.replies) == 2
            assert_nothing_wrong(device)
        assert server.count("session.audio_ignored") > 3_000 / 60


async def test_the_voice_of_a_user_does_not_interrupt_it() -> None:
    agent = ScriptedAgentBackend(lambda _: (STORY,))
    async with serving(asr=ScriptedASR(["tell a story"]), agent=agent) as server:
        config = server.device(mode="realtime", server_aec=True)
        async with SimulatedDevice(config) as device:
            await device.wait_for(lambda: device.listening, what="listening")
            await device.say("tell a story")
            await until(lambda: len(device.heard) > 5, what="speech", seconds=60)
            await device.say("stop it now")
            reply = await device.wait_for_reply(after=0)
            assert reply.text == STORY
            assert device.stt_texts == ["tell a story"]


async def test_its_buttons_interrupt_it_and_the_rest_that_still_sounds_is_no_speech() -> None:
    agent = ScriptedAgentBackend(lambda text: (STORY,) if text == "tell a story" else (f"{text}?",))
    async with serving(asr=ScriptedASR(["tell a story", "and now"]), agent=agent) as server:
        config = server.device(mode="realtime", server_aec=True, echo_db=ECHO_DB)
        async with SimulatedDevice(config) as device:
            await device.wait_for(lambda: device.listening, what="listening")
            await device.say("tell a story")
            await until(lambda: len(device.heard) > 15, what="speech", seconds=60)
            since = len(device.frames)
            await device.abort()
            await device.wait_for_reply(after=0)
            reply = await device.ask("something else")
            assert reply.text == "and now?"
            names = [what(frame) for frame in received(device, since)]
            assert names.count("tts stop") == 2
            assert device.stt_texts == ["tell a story", "and now"]
