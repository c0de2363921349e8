"""When a turn ends: the default policy, and how the turn detector applies a policy."""

from __future__ import annotations

import pytest

from tests.unit.core.turns.detector import Detector, Scripted
from vixio.core.chunk import (
    ListenMode,
    ListenStart,
    PartialTranscript,
    TurnEnded,
    VoiceEnded,
    VoiceStarted,
)
from vixio.core.turns.endpointing import FixedSilence, TurnProgress


@pytest.mark.parametrize("mode", [ListenMode.AUTO, ListenMode.REALTIME])
@pytest.mark.parametrize("length", [0.3, 1.0, 29.0])
@pytest.mark.parametrize("silence", [0.0, 0.49, 5.0])
@pytest.mark.parametrize("pauses", [(), (0.4, 0.3)])
@pytest.mark.parametrize("partial", ["", "turn on the"])
def test_fixed_silence_depends_on_nothing(
    mode: ListenMode, length: float, silence: float, pauses: tuple[float, ...], partial: str
) -> None:
    progress = TurnProgress(mode, length, silence, pauses, partial)
    assert FixedSilence(0.7).required_silence(progress) == 0.7


CASES = {
    "the default": (None, 0.48, 0.54),
    "the same as the default": (FixedSilence(0.5), 0.48, 0.54),
    "shorter": (FixedSilence(0.2), 0.18, 0.24),
    "longer": (FixedSilence(1.5), 1.44, 1.56),
    "longer than a turn may be": (FixedSilence(1e9), 28.8, 30.0),
}


@pytest.mark.parametrize("mode", [ListenMode.AUTO, ListenMode.REALTIME])
@pytest.mark.parametrize("case", CASES)
async def test_the_required_silence_ends_the_turn(case: str, mode: ListenMode) -> None:
    policy, before, after = CASES[case]
    detector = Detector(policy, mode)
    await detector.spoken()
    await detector.audio(before)
    assert not detector.ended()
    await detector.audio(after - before)
    (ended,) = detector.ended()
    assert ended.speech_ms == 1_200 or ended.reason == "limit"


@pytest.mark.parametrize("case", CASES)
async def test_packets_that_stop_end_it_by_the_same_rule(case: str) -> None:
    policy, _, _ = CASES[case]
    seconds = 0.5 if policy is None else min(policy.seconds, 30.0)
    detector = Detector(policy, ListenMode.AUTO)
    await detector.spoken()
    deadline = detector.deadline()
    assert deadline == pytest.approx(detector.now + seconds + 0.2), "0.2 s for jitter"
    assert not await detector.station.expire(deadline - 0.01)
    (ended,) = await detector.station.expire(deadline)
    assert isinstance(ended, TurnEnded)
    assert ended.reason == "gap"


async def test_a_policy_sees_the_turn() -> None:
    policy = Scripted(lambda _: 0.5)
    detector = Detector(policy, ListenMode.REALTIME)
    await detector.spoken()
    await detector.audio(0.3)
    await detector.feed(VoiceStarted(0))
    await detector.audio(0.6)
    await detector.feed(VoiceEnded(0))
    detector.context.partial = PartialTranscript(detector.turn_id(), "turn on")
    await detector.audio(0.06)
    last = policy.asked[-1]
    assert last.mode is ListenMode.REALTIME
    assert last.length == pytest.approx(1.2 + 0.3 + 0.6 + 0.06)
    assert last.silence == pytest.approx(0.06)
    assert last.pauses == pytest.approx((0.3,))
    assert last.partial == "turn on"


async def test_nothing_of_an_earlier_turn_is_seen() -> None:
    policy = Scripted(lambda _: 0.2)
    detector = Detector(policy, ListenMode.AUTO)
    await detector.spoken()
    detector.context.partial = PartialTranscript(detector.turn_id(), "earlier words")
    await detector.audio(0.3)
    assert detector.ended()
    policy.asked.clear()
    await detector.spoken()
    await detector.audio(0.06)
    assert {progress.partial for progress in policy.asked} == {""}
    assert {progress.pauses for progress in policy.asked} == {()}


async def test_a_partial_that_comes_between_two_packets_counts_at_the_deadline() -> None:
    policy = Scripted(lambda progress: 2.0 if progress.partial.endswith("and") else 0.5)
    detector = Detector(policy, ListenMode.AUTO)
    await detector.spoken()
    deadline = detector.deadline()
    detector.context.partial = PartialTranscript(detector.turn_id(), "the lamp and")
    assert not await detector.station.expire(deadline)
    later = detector.deadline()
    assert later == pytest.approx(deadline + 1.5)
    assert await detector.station.expire(later)


async def test_in_manual_mode_the_button_decides() -> None:
    policy = Scripted(lambda _: 0.0)
    detector = Detector(policy, ListenMode.MANUAL)
    await detector.feed(ListenStart(ListenMode.MANUAL))
    await detector.audio(5.0)
    assert not detector.ended()
    assert not policy.asked
    assert detector.station.deadline is None


# ── where a turn begins, ends, and what belongs to it ────────────────────────────────────────────
