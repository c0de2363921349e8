"""Policies of turn-taking of a real server: endpointing, and the user's voice over a speech."""

from __future__ import annotations

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, received, what
from tests.e2e.doubles import WaveformASR, recordings
from tests.e2e.harness import serving, settings
from tests.e2e.stages import ANSWER, HEARD_FRAMES, NEXT, SENTENCE
from tests.support.waiting import until
from vixio import endpointing, interruption
from vixio.core.session.events import Event, SpeechInterrupted, StateChanged
from vixio.testing import ScriptedAgentBackend, ScriptedTTS

STORY = SENTENCE * 8
QUESTION = "how are you"
MUMBLE = "close the window"
"""Not known to the recogniser: a voice without words."""

LEAST_GAP_S = 0.3
"""The voice goes on for longer than this after the pause has begun."""


class HoldsAtVoice:
    """Holds the speech, whatever is said."""

    def decide(self, overlap: interruption.Overlap) -> interruption.Decision:
        """Pause."""
        return interruption.Decision.PAUSE


class HalfASecond:
    """Ends a turn after half a second, and notes the mode that it was asked in."""

    def __init__(self) -> None:
        self.modes: set[str] = set()

    def required_silence(self, progress: endpointing.TurnProgress) -> float:
        """Return the half second."""
        self.modes.add(progress.mode)
        return 0.5


@pytest.mark.parametrize("chosen_by", ["program", "settings"])
async def test_a_speech_is_paused_by_a_voice_resumed_after_noise_and_cut_by_words(
    chosen_by: str,
) -> None:
    own = chosen_by == "program"
    made: list[HalfASecond] = []

    def half_a_second() -> HalfASecond:
        made.append(HalfASecond())
        return made[-1]

    happened: list[Event] = []
    await recordings([MUMBLE])  # synthesised before the speech begins
    async with serving(
        settings() if own else settings(listening={"interruption": "pause"}),
        asr=WaveformASR(await recordings([QUESTION, NEXT])),
        agent=ScriptedAgentBackend(lambda text: (STORY,) if text == QUESTION else (ANSWER,)),
        tts=ScriptedTTS(),
        endpointing=half_a_second if own else None,
        interruption=HoldsAtVoice if own else None,
    ) as server:
        server.app.events.attach(happened.append)

        def states() -> list[str]:
            return [event.after for event in happened if isinstance(event, StateChanged)]

        async with SimulatedDevice(server.device(mode="realtime")) as device:
            await device.wait_for(lambda: device.listening, what="listening")
            await device.say(QUESTION)
            await until(lambda: len(device.heard) >= HEARD_FRAMES, what="speech")
            await device.say(MUMBLE)
            await until(lambda: states()[-2:] == ["paused", "speaking"], what="speech again")
            heard = len(device.heard)
            await until(lambda: len(device.heard) >= heard + HEARD_FRAMES, what="more speech")
            story, rest = device.replies
            assert story.clipped_ms > 0, "the device dropped what it had"
            assert story.playout_end is not None
            assert rest.first_played is not None
            assert rest.first_played - story.playout_end >= LEAST_GAP_S
            names = [what(frame) for frame in received(device)]
            assert names[(at := names.index("tts stop")) : at + 2] == ["tts stop", "tts start"]
            await device.say(NEXT)
            reply = await device.wait_for_reply(after=3)
            assert reply.text == ANSWER
            assert device.replies[2].stt == NEXT, "the user's words came over the pause"
            assert_nothing_wrong(device)
            (cut,) = (event for event in happened if isinstance(event, SpeechInterrupted))
            assert 0 < len(cut.heard) < len(STORY)
            assert states()[:8] == [
                *("listening", "thinking", "speaking", "paused", "speaking"),
                *("paused", "thinking", "speaking"),
            ]
            assert [policy.modes for policy in made] == ([{"realtime"}] if own else [])
