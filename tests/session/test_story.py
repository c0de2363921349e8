"""Ten minutes of a story: nothing is lost, nothing stutters, subtitles stand by their sentences."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from tests.session.conversation import Conversation, on_virtual_time
from tests.session.test_pacing import DEVICE_DELAY_S
from vixio.core.chunk import TextInput
from vixio.core.pacer import SUBTITLE_S
from vixio.core.session.settings import SessionSettings
from vixio.stations.tts import SENTENCE_PAUSE_S
from vixio.testing import ScriptedAgent, ScriptedTTS

SENTENCES = [
    f"{number} days later the old lighthouse keeper {deed}."
    for number, deed in enumerate(
        ["lit the lamp", "wrote a long letter to his sister on the mainland, and waited"] * 80, 2
    )
]
PER_CHARACTER = 0.07


@pytest.mark.parametrize(
    ("word_s", "pace", "delay"),
    [(0.02, 0.0, 0.0), (0.02, 1.3, 0.25), (0.05, 4.0, 0.6)],
    ids=["at once", "a slow voice", "a voice that takes its time to begin"],
)
@on_virtual_time
async def test_ten_minutes(word_s: float, pace: float, delay: float) -> None:
    words = [each for sentence in SENTENCES for each in (f"{sentence} ", word_s)]
    talk = Conversation(
        agent=ScriptedAgent(lambda text: tuple(words)),
        tts=ScriptedTTS(seconds_per_char=PER_CHARACTER, pace=pace, delay=delay),
        settings=SessionSettings(),
    )
    async with talk.running():
        talk.device.put(TextInput("tell me a long story"))
        await talk.device.wait_for("start", seconds=60)
        assert talk.session is not None
        reply = talk.session._dialogue._slot.reply
        assert reply is not None
        await talk.device.wait_for("stop", seconds=1_200)
        device = talk.device
        audio = device.all("audio")
        assert len(audio) * device.output.frame_ms / 1000 > 600
        assert device.texts() == SENTENCES
        assert talk.counters.get("pacer.starved") == 0
        assert device.all("stop")[-1].at == pytest.approx(
            audio[0].at + len(audio) * 0.06 + DEVICE_DELAY_S, abs=1e-6
        )
        # All of each sentence is there, and its subtitle stands shortly before its sound.
        starts = [each.start_ms for each in reply.pacer._sentences]
        for sentence, (begin, end) in zip(
            SENTENCES, pairwise([*starts, 60 * len(audio)]), strict=True
        ):
            seconds = len(sentence) * PER_CHARACTER
            packets = (end - begin) // 60
            assert packets >= math.floor(seconds / 0.06), sentence
            assert packets <= math.ceil((seconds + SENTENCE_PAUSE_S) / 0.06) + 1, sentence
        for shown, start_ms in zip(device.all("sentence")[1:], starts[1:], strict=True):
            ahead = audio[0].at + start_ms / 1000 - shown.at
            assert 0.0 <= ahead <= SUBTITLE_S + 1e-6
        (timeline,) = talk.ended
        assert timeline.outcome == "answered"
