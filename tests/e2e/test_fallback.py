"""Providers that die in a conversation, with another one behind them: the user notices nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.doubles import WaveformASR, recordings
from tests.e2e.harness import serving, settings
from tests.e2e.test_http import get
from vixio.core.errors import ProviderError
from vixio.providers.asr import ASRStream, SpeechHints
from vixio.providers.fallback.asr import FallbackASRProvider
from vixio.providers.fallback.tts import FallbackTTSProvider
from vixio.testing import ScriptedAgentBackend, ScriptedASR, ScriptedTTS

BROKEN = ProviderError("scripted", "out of order", reason="service")
SOUND = "good morning"
STORY = "One is the first. Two is the second. Three is the third."


class DyingTTS(ScriptedTTS):
    """Dies in the middle of what says "Two", and is dead from then on."""

    name = "dying"
    dead = False

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Yield silence, as long as it lives."""
        if self.dead:
            raise BROKEN
        count = 0
        async for pcm in super().synthesize(text, language=language):
            count += 1
            if "Two" in text and count > 1:
                self.dead = True
                raise BROKEN
            yield pcm


class DyingASR(ScriptedASR):
    """Dies in the middle of the utterance."""

    name = "dying"
    fed = 0

    def open(self, hints: SpeechHints) -> ASRStream:
        """Begin an utterance that comes to nothing."""
        stream = super().open(hints)
        feed = stream.feed

        async def dying(pcm: bytes) -> None:
            self.fed += 1
            if self.fed > 4:
                raise BROKEN
            await feed(pcm)

        stream.feed = dying  # type: ignore[method-assign]  # one stream of a double dies
        return stream


async def test_a_voice_that_dies_in_mid_sentence() -> None:
    first, second = DyingTTS(seconds_per_char=0.02), ScriptedTTS(seconds_per_char=0.02)
    agent = ScriptedAgentBackend(lambda text: (STORY,))
    tts = FallbackTTSProvider([first, second])
    async with (
        serving(settings(), asr=WaveformASR({}), agent=agent, tts=tts) as server,
        SimulatedDevice(server.device()) as device,
    ):
        reply = await device.type_text("tell me")
        assert reply.text == STORY
        assert_played_well(reply)
        assert second.spoken == ["Three is the third."]
        again = await device.type_text("once more")
        assert again.text == STORY
        assert_played_well(again)
        assert len(second.spoken) == 4
        assert server.count("turn.outcome.answered") == 2
        assert server.count("turn.failed") == 0
        assert not device.alerts
        assert_nothing_wrong(device)
        health = await get(f"{server.http_url}/healthz")
        assert health["providers"]["tts"] == "dying, scripted"
        dying, sound = health["fallbacks"]["tts"]
        assert (dying["state"], dying["reason"], dying["failed"]) == ("open", "service", 1)
        assert (sound["state"], sound["served"]) == ("ready", 4)


async def test_a_recogniser_that_dies_in_mid_utterance() -> None:
    dying, recogniser = DyingASR(), WaveformASR(await recordings([SOUND]))
    whole = {"think_ms": 0}  # a pause in it would be heard up to there as well
    async with (
        serving(
            settings(listening=whole),
            asr=FallbackASRProvider([dying, recogniser]),
            agent=ScriptedAgentBackend(),
            tts=ScriptedTTS(seconds_per_char=0.02),
        ) as server,
        SimulatedDevice(server.device()) as device,
    ):
        reply = await device.ask(SOUND)
        assert reply.stt == SOUND
        assert reply.text == f"You said {SOUND}."
        assert_played_well(reply)
        assert dying.fed == 5
        assert len(recogniser.heard) == 1
        assert dying.open_streams == recogniser.open_streams == 0
        assert server.count("asr.failed") == 0
        assert_nothing_wrong(device)
