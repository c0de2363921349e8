"""The echo canceller with its library: the table of `vixio bench echo`, and real conversations."""

from __future__ import annotations

import statistics
from functools import cache

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.harness import serving
from tests.models.needs import needs
from tests.support.waiting import until
from vixio.testing import ScriptedAgentBackend, ScriptedASR
from vixio_bench.echo.device import Case, Sound
from vixio_bench.echo.report import BARGE_IN, CASES, Studio, barge_in, measure

pytestmark = needs("aec", "pywebrtc_audio")

STORY = (
    "Once upon a time there was a small server. It lived in a cupboard under the stairs. "
    "It knew the names of all the lamps. In the evenings it told the one about the lighthouse."
)


@cache
def studio() -> Studio:
    return Studio()


@cache
def sound() -> Sound:
    return studio().conversation()


@pytest.mark.parametrize(
    "case", [each for each in CASES if each.marked], ids=lambda each: each.name
)
def test_the_assistant_does_not_hear_itself_and_hears_the_user(case: Case) -> None:
    found = measure(studio(), case, sound())
    assert found.without[1] >= 3, "without it, it interrupts itself"
    assert found.cuts == 0
    assert found.erle_db[1] >= 15
    assert found.user >= 0.6


@pytest.mark.parametrize(("echo_db", "most"), [each for each in BARGE_IN if each[1] is not None])
def test_users_who_begin_to_speak_are_heard(echo_db: float, most: int) -> None:
    found = barge_in(studio(), echo_db, most)
    assert found.missed <= most
    assert statistics.median(found.later_ms) <= 96  # of audio: not of this machine


def told(text: str) -> tuple[str, ...]:
    return (STORY,) if text == "tell a story" else (f"{text}?",)


async def tell_a_story(delay_ms: float, echo_db: float) -> list[str]:
    """Ask for the story, then for something else; return the answers, none if the story was cut."""
    asr = ScriptedASR(["tell a story", *["and now"] * 9])
    async with serving(asr=asr, agent=ScriptedAgentBackend(told)) as server:
        config = server.device(
            mode="realtime", version=2, server_aec=True, echo_db=echo_db, echo_delay_ms=delay_ms
        )
        async with SimulatedDevice(config) as device:
            reply = await device.ask("tell a story")
            assert device.stt_texts[0] == "tell a story"
            # Cut in its last sentence it has its whole text, and packets that are never heard.
            whole = reply.text == STORY and reply.clipped_ms == reply.too_early_ms
            if whole:
                assert_played_well(reply)
                await device.ask("something else")
            assert_nothing_wrong(device)
        assert server.count("xiaozhi.echo.failed") == 0
        assert server.count("session.audio_ignored") == 0
    return [each.text for each in device.replies] if whole else []


@pytest.mark.parametrize(("delay_ms", "echo_db"), [(80, -12.0), (240, -6.0), (400, -6.0)])
async def test_it_tells_a_story_to_the_end(delay_ms: float, echo_db: float) -> None:
    # A loudspeaker that gets no processor stutters, and its echo is another one then: so one of
    # three tries has to succeed. Without the canceller none does.
    tries: list[list[str]] = []
    while len(tries) < 3 and [STORY, "and now?"] not in tries:
        tries.append(await tell_a_story(delay_ms, echo_db))
    assert [STORY, "and now?"] in tries


async def test_a_voice_over_its_echo_stops_it() -> None:
    asr = ScriptedASR(["tell a story", "and now", "noise"])
    async with serving(asr=asr, agent=ScriptedAgentBackend(told)) as server:
        config = server.device(
            mode="realtime", version=2, server_aec=True, echo_db=-12.0, echo_delay_ms=240
        )
        async with SimulatedDevice(config) as device:
            await device.wait_for(lambda: device.listening, what="listening")
            await device.say("tell a story")
            await until(lambda: len(device.heard) > 40, what="speech", seconds=60)
            spoken = await device.say("please stop it now")
            reply = await device.wait_for_reply(after=2)
            assert reply.text == "and now?"
            assert device.stt_texts == ["tell a story", "and now"]
            cut = device.replies[0]
            assert cut.text != STORY
            assert cut.playout_end is not None
            assert cut.playout_end - spoken.voice_start < 5.0
            assert_nothing_wrong(device)


async def test_a_canceller_that_fails_costs_what_it_does(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def __init__(self, sample_rate: int, echo_cancellation: bool) -> None:
            pass

        def process(self, near: object, far: object) -> object:
            raise RuntimeError("out of order")

    monkeypatch.setattr("pywebrtc_audio.AudioProcessor", Broken)
    asr = ScriptedASR(["tell a story", "and now", "noise"])
    async with serving(asr=asr, agent=ScriptedAgentBackend(told)) as server:
        config = server.device(
            mode="realtime", version=2, server_aec=True, echo_db=-6.0, echo_delay_ms=160
        )
        async with SimulatedDevice(config) as device:
            reply = await device.ask("tell a story")
            assert reply.text == STORY
            again = await device.ask("something else")
            assert again.text == "and now?"
            assert device.stt_texts == ["tell a story", "and now"]
            assert_nothing_wrong(device)
        assert server.count("xiaozhi.echo.failed") == 1
        assert server.count("session.audio_ignored") > 0, "the second answer was half-duplex"
    assert [each.levelname for each in caplog.records if "echo canceller" in each.msg] == ["ERROR"]
