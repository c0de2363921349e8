"""The measurement of the end of a turn: the real detector, on speech with known pauses."""

from __future__ import annotations

import asyncio
import wave
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from vixio.core.audio import LISTEN_RATE
from vixio.providers import registry
from vixio.providers.vad import VADProvider
from vixio.stations.vad import VADSettings
from vixio.testing.voices import Voices
from vixio_bench.background import SOON_S, Ended, among, end_of_turn
from vixio_bench.end_of_turn import (
    FRAME_S,
    Opinions,
    Outcome,
    Utterance,
    decide,
    hear,
    summary,
    trimmed,
)
from vixio_bench.paused_speech import hesitating, paused, recorded
from vixio_bench.speech_corpus import load_corpus

T = TypeVar("T")

PARTS = ("turn off the lamp", "in the bedroom")

SPEAKERS = load_corpus("held-out").speakers


def with_silero(work: Callable[[VADProvider], Awaitable[T]]) -> T:
    async def run() -> T:
        factory = registry.resolve("vad", "silero")
        vad = factory.create(factory.settings_model())
        await vad.start()
        try:
            return await work(vad)
        finally:
            await vad.close()

    return asyncio.run(run())


def outcomes(utterance: Utterance, *thresholds: int) -> list[Outcome]:
    async def run(vad: VADProvider) -> list[Outcome]:
        heard = await hear(vad, utterance)
        return [await decide(heard, threshold) for threshold in thresholds]

    return with_silero(run)


def one_pause(seconds: float) -> Utterance:
    return paused(Voices(repeatable=True), PARTS, [seconds], SPEAKERS[0])


def test_a_pause_is_cut_by_a_shorter_silence_only() -> None:
    utterance = one_pause(0.35)
    early, late = outcomes(utterance, 200, 500)
    assert early.cut
    assert len(early.resumed) == 1
    assert not late.cut
    assert late.behind == 0.0
    rest = len(paused(Voices(repeatable=True), PARTS[1:], [], SPEAKERS[0]).sound) / LISTEN_RATE
    # What is behind the cut is the second part, as the detector finds its beginning.
    assert early.behind == pytest.approx(rest, abs=0.1)


def test_a_second_opinion_lengthens_the_pause_that_it_doubts() -> None:
    utterance = one_pause(0.7)
    doubts, agrees = Opinions(lambda pcm: 0.1), Opinions(lambda pcm: 0.9)

    async def run(vad: VADProvider) -> list[Outcome]:
        heard = await hear(vad, utterance)
        return [await decide(heard, 500, opinion=each) for each in (None, agrees, doubts)]

    without, agreed, doubted = with_silero(run)
    assert without == agreed
    assert without.cut
    assert not doubted.cut
    assert without.wait is not None
    assert doubted.wait == pytest.approx(without.wait + 0.5, abs=FRAME_S)
    assert (agrees.pauses, doubts.pauses) == (2, 2), "each pause once"
    assert doubts.seconds >= 0


def test_the_wait_is_the_silence_and_the_packets_around_it() -> None:
    for outcome, threshold in zip(outcomes(one_pause(0.0), 300, 800), (300, 800), strict=True):
        assert outcome.wait is not None
        # The VAD hears a voice for a moment longer, and a packet is whole before it counts.
        assert threshold / 1000 <= outcome.wait <= threshold / 1000 + 3 * FRAME_S


def test_an_answer_that_comes_later_than_the_rest_is_no_early_one() -> None:
    (outcome,) = outcomes(one_pause(0.7), 200)
    (gap,) = outcome.resumed
    assert outcome.answered_early(gap - 0.01)
    assert not outcome.answered_early(gap + 0.01)
    assert 0.3 < gap < 0.7


def test_a_turn_ends_while_others_talk() -> None:
    """At 10 dB below the user, by the level; the detector alone hears a voice in most pauses."""
    voices, draw = Voices(repeatable=True), np.random.default_rng(1)
    said = [paused(voices, ["turn off the lamp in the bedroom"], [], who) for who in SPEAKERS]
    room = [among(voices, each, number % 3 * 2 + 1, 10.0, draw) for number, each in enumerate(said)]

    async def run(vad: VADProvider) -> list[list[Ended]]:
        return [
            [await end_of_turn(vad, each, VADSettings(background_db=margin), 0) for each in room]
            for margin in (0.0, 8.0)
        ]

    without, by_level = with_silero(run)
    assert sum(each.wait is None or each.wait > SOON_S for each in without) >= 4
    assert all(each.wait is not None and each.wait <= SOON_S for each in by_level), by_level
    assert not any(each.cut for each in by_level)


def test_the_level_changes_nothing_in_a_quiet_room() -> None:
    utterances = [one_pause(0.35), one_pause(0.8)]

    async def run(vad: VADProvider, margin: float) -> list[Outcome]:
        settings = VADSettings(background_db=margin)
        return [await decide(await hear(vad, each, 0, settings), 500) for each in utterances]

    with_level, without = (
        with_silero(partial(run, margin=margin)) for margin in (VADSettings().background_db, 0.0)
    )
    assert with_level == without


def test_a_summary_counts_utterances_and_seconds() -> None:
    line = summary(
        300, [Outcome(4.0, (0.05, 2.0), 3.0, 0.4), Outcome(2.0, (), 0.0, 0.5), Outcome(6, (), 0, 1)]
    )
    assert line.cut == pytest.approx(1 / 3)
    assert line.behind == pytest.approx(3 / 12)
    assert line.early == pytest.approx((1 / 3, 1 / 3))
    assert line.a_minute == pytest.approx(10.0)
    assert line.wait_p50 == pytest.approx(0.5)


def test_the_drawn_pauses_are_those_of_their_seed() -> None:
    def lengths(seed: int) -> list[float]:
        return [each.seconds for each in hesitating(seed, limit=2)]

    first = lengths(1)
    # A voice may end a window earlier or later: eSpeak NG keeps state from one text to the next.
    assert lengths(1) == pytest.approx(first, abs=0.05)
    assert lengths(2) != pytest.approx(first, abs=0.05)


def test_a_recording_is_read_at_any_rate_and_without_the_silence_around_it(tmp_path: Path) -> None:
    tone = np.sin(np.arange(22_050) * 2 * np.pi * 220 / 22_050)
    sound = np.concatenate([np.zeros(11_025), tone, np.zeros(22_050)]) * 8_000
    for name, samples in (("empty", sound[:0]), ("one", sound), ("silent", sound * 0)):
        with wave.open(str(tmp_path / f"{name}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(22_050)
            file.writeframes(samples.astype("<i2").tobytes())
    (tmp_path / "notes.txt").write_text("no audio", encoding="utf-8")
    (utterance,) = recorded([tmp_path])
    assert utterance.name == "one.wav"
    assert utterance.seconds == pytest.approx(1.0, abs=0.03)
    assert len(trimmed(utterance.sound)) == pytest.approx(len(utterance.sound), abs=320)
