"""A provider that raises, hangs or returns nothing, at each stage, costs one turn: the device gets
an apology and ``tts stop``, and the next turn works."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from firmware_test_client import Reply, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well, received, what
from tests.e2e.doubles import WaveformASR, recordings
from tests.e2e.harness import RunningServer, serving, settings
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.testing import ScriptedAgentBackend, ScriptedTTS, ScriptedVAD
from vixio.testing.providers import Step

BROKEN = ProviderError("scripted", "out of order")
FOREVER = 1_000.0
TIMEOUTS = {"asr": 2.0, "agent_first": 1.5, "agent_next": 1.5, "tts": 1.5}
SETTINGS = settings(timeouts=TIMEOUTS)

FAILED, TIMEOUT, NO_ANSWER = "went wrong", "too long", "no answer"
UNREADY = "language model is not ready"
SOUND, GARBLED, MUMBLED = "good morning", "what is the time", "how are you"

AGENT: dict[str, tuple[tuple[Step, ...], str]] = {
    "raise": ((BROKEN,), FAILED),
    "no key": ((ProviderUnavailable("scripted", "no key"),), UNREADY),
    "a defect": ((ZeroDivisionError(),), FAILED),
    "raise late": (("This is the first sentence of two. And ", 0.2, BROKEN), FAILED),
    "hang": ((FOREVER,), TIMEOUT),
    "hang late": (("This is the first sentence of two. ", FOREVER), TIMEOUT),
    "nothing": ((), NO_ANSWER),
    "spaces": (("  ", "\n"), NO_ANSWER),
}
"""What is typed, what the agent does then, what the user is told."""

TTS = {"raise": FAILED, "hang": TIMEOUT, "silence": NO_ANSWER}
"""What is typed and then spoken, what the user is told."""


class MoodyTTS(ScriptedTTS):
    """Fails for the sentences that say so, or for all."""

    broken = ""

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Yield silence, or fail."""
        mood = self.broken or text
        if "raise" in mood:
            raise BROKEN
        if "hang" in mood:
            await asyncio.sleep(FOREVER)
        if "silence" in mood:
            return
        async for pcm in super().synthesize(text, language=language):
            yield pcm


def quick() -> ScriptedTTS:
    """Return a voice that speaks fast."""
    return ScriptedTTS(seconds_per_char=0.03)


async def typed(server: RunningServer, words: str, told: str) -> None:
    """A turn that fails, then one that does not."""
    async with SimulatedDevice(server.device()) as device:
        assert_apology(await device.type_text(words), told)
        await works(device)


def assert_apology(reply: Reply, told: str) -> None:
    assert told in reply.text
    assert_played_well(reply)


async def works(device: SimulatedDevice) -> None:
    """The next turn, and nothing sent in all this that a device could not bear."""
    count = len(device.replies)
    reply = await device.type_text("well")
    assert reply.text == "You said well."
    assert reply.index == count
    assert_played_well(reply)
    names = [what(frame) for frame in received(device)]
    assert names.count("tts start") <= names.count("tts stop")
    assert_nothing_wrong(device)


async def test_agents() -> None:
    def script(text: str) -> tuple[Step, ...]:
        return AGENT[text][0] if text in AGENT else (f"You said {text}.",)

    agent = ScriptedAgentBackend(script)
    async with serving(SETTINGS, asr=WaveformASR({}), agent=agent, tts=quick()) as server:
        async with asyncio.TaskGroup() as group:
            for words, (_, told) in AGENT.items():
                group.create_task(typed(server, words, told), name=words)
        assert sum(each.running for each in agent.agents) == 0
        assert server.count("turn.outcome.failed") == len(AGENT)
        assert server.count("turn.outcome.answered") == len(AGENT)


async def test_voices_that_fail_for_one_sentence() -> None:
    tts = MoodyTTS(seconds_per_char=0.03)
    async with serving(
        SETTINGS, asr=WaveformASR({}), agent=ScriptedAgentBackend(), tts=tts
    ) as server:
        async with asyncio.TaskGroup() as group:
            for words, told in TTS.items():
                group.create_task(typed(server, words, told), name=words)
        assert tts.running == 0


@pytest.mark.parametrize("mood", TTS)
async def test_a_voice_that_is_gone_is_replaced_by_the_screen(mood: str) -> None:
    tts = MoodyTTS()
    async with (
        serving(SETTINGS, asr=WaveformASR({}), agent=ScriptedAgentBackend(), tts=tts) as server,
        SimulatedDevice(server.device()) as device,
    ):
        tts.broken = mood
        await device.send_json({"type": "listen", "state": "detect", "text": "anything"})
        await device.wait_for(lambda: device.alerts, what="an alert")
        await device.wait_for_frame("tts", where=lambda frame: what(frame) == "tts stop")
        (alert,) = device.alerts
        assert TTS[mood] in str(alert["message"])
        assert alert["status"]
        assert alert["emotion"]
        names = [what(frame) for frame in received(device)]
        assert names[-1] == "tts stop"
        assert "tts start" not in names
        assert device.state == "listening"
        tts.broken = ""
        await works(device)


@pytest.mark.parametrize("failure", ["raise", "hang"])
async def test_why_push_to_talk_failed_stays_on_the_screen(failure: str) -> None:
    """The device becomes idle with ``tts stop``, which clears its screen: the reason follows."""
    agent = ScriptedAgentBackend(lambda _: AGENT[failure][0] if tts.broken else ("Here I am.",))
    tts = MoodyTTS()
    recogniser = WaveformASR(await recordings([SOUND]))
    async with (
        serving(SETTINGS, asr=recogniser, agent=agent, tts=tts) as server,
        SimulatedDevice(server.device(mode="manual")) as device,
    ):
        tts.broken = "raise"
        await device.press()
        await device.say(SOUND)
        await device.release()
        await device.wait_for(lambda: device.notices and device.screen_settled, what="a notice")
        (notice,) = device.notices
        assert AGENT[failure][1] in notice.message
        assert notice.cleared is None
        assert device.state == "idle"
        assert [what(frame) for frame in received(device)][-2:] == ["tts stop", "alert"]
        tts.broken = ""
        reply = await device.press_to_talk(SOUND)
        assert reply.text == "Here I am."
        assert_played_well(reply)
        assert_nothing_wrong(device)


async def heard(server: RunningServer, words: str, told: str) -> None:
    """A spoken turn that fails, then one that does not."""
    async with SimulatedDevice(server.device()) as device:
        reply = await device.ask(words)
        assert_apology(reply, told)
        assert reply.stt is None
        again = await device.ask(SOUND)
        assert again.text == f"You said {SOUND}."
        assert_played_well(again)
        assert_nothing_wrong(device)


async def test_recognisers() -> None:
    words = {"close the window": FAILED, GARBLED: TIMEOUT}
    known = await recordings([SOUND, MUMBLED, *words])
    recogniser = WaveformASR(
        known, {"close the window": (BROKEN,), GARBLED: (FOREVER,), MUMBLED: ()}
    )
    agent = ScriptedAgentBackend()
    async with serving(SETTINGS, asr=recogniser, agent=agent, tts=quick()) as server:
        async with asyncio.TaskGroup() as group:
            for said, told in words.items():
                group.create_task(heard(server, said, told), name=said)
            group.create_task(not_understood(server))
            group.create_task(without_words(server))
        assert recogniser.open_streams == 0
        assert recogniser.finishing == 0
        assert server.count("turn.failed.asr") == len(words)
        assert server.count("turn.empty") == 1


async def not_understood(server: RunningServer) -> None:
    """What the recogniser would only guess at is asked back."""
    async with SimulatedDevice(server.device()) as device:
        assert_apology(await device.ask("how many roads must a man walk"), "did not understand")
        await works(device)


async def without_words(server: RunningServer) -> None:
    """Speech for which the recogniser has no words at all is asked back too."""
    async with SimulatedDevice(server.device()) as device:
        assert_apology(await device.ask(MUMBLED), "did not understand")
        await works(device)


@pytest.mark.parametrize("hangs", [False, True])
async def test_a_detector(hangs: bool) -> None:
    """It fails while the device listens; who is asked to try again is heard."""
    vad = ScriptedVAD()
    recogniser = WaveformASR(await recordings([SOUND]))
    agent = ScriptedAgentBackend()
    config = settings(timeouts={**TIMEOUTS, "vad": 2.0})
    async with (
        serving(config, vad=vad, asr=recogniser, agent=agent, tts=ScriptedTTS()) as server,
        SimulatedDevice(server.device()) as device,
    ):
        await device.wait_for(lambda: device.listening, what="listening")
        if hangs:
            vad.delay = FOREVER
        else:
            vad.error = BROKEN
        await device.wait_for_frame("tts")
        vad.delay, vad.error = 0.0, None
        assert_apology(await device.wait_for_reply(), TIMEOUT if hangs else FAILED)
        reply = await device.ask(SOUND)
        assert reply.text == f"You said {SOUND}."
        assert_played_well(reply)
        assert server.count("vad.failed") == 1
        assert_nothing_wrong(device)
    assert vad.open_streams == 0
