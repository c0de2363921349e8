"""When a turn ends: the policies, and how the turn detector applies one."""

from __future__ import annotations

import pytest

from tests.unit.core.turns.detector import PACKET_S, Detector, Scripted
from vixio.core.chunk import (
    Completeness,
    EarlyTranscript,
    ListenMode,
    ListenStart,
    PartialTranscript,
    TurnEnded,
    VoiceEnded,
    VoiceStarted,
)
from vixio.core.turns import endpointing
from vixio.core.turns.endpointing import (
    AdaptiveSilence,
    AdaptiveSilences,
    FixedSilence,
    Hesitation,
    TurnProgress,
)


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


def progress(
    early: Completeness | None = None,
    *,
    heard: bool = True,
    partial: str = "",
    turn_id: int = 1,
    pauses: tuple[float, ...] = (),
    since_last: float | None = None,
) -> TurnProgress:
    words = EarlyTranscript(turn_id, "words", completeness=early) if heard else None
    return TurnProgress(
        ListenMode.AUTO, 1.0, 0.3, pauses, partial, words, "en", turn_id, since_last
    )


@pytest.mark.parametrize(
    ("seconds", "known", "unknown", "begun"),
    [(0.5, 0.225, 0.5, 1.0), (0.2, 0.09, 0.2, 0.4), (0.8, 0.36, 0.8, 1.2), (2.0, 0.9, 2.0, 2.0)],
)
def test_the_words_shorten_and_lengthen_the_wait_within_bounds(
    seconds: float, known: float, unknown: float, begun: float
) -> None:
    policy = AdaptiveSilence(seconds)
    assert policy.required_silence(progress(Completeness.COMPLETE)) == pytest.approx(known)
    assert policy.required_silence(progress(None)) == pytest.approx(unknown)
    assert policy.required_silence(progress(Completeness.INCOMPLETE)) == pytest.approx(begun)
    assert policy.required_silence(progress(heard=False)) == pytest.approx(unknown)


def test_partial_words_lengthen_the_wait_and_never_shorten_it() -> None:
    policy = AdaptiveSilence(0.5)
    assert policy.required_silence(progress(heard=False, partial="turn on the")) == 1.0
    assert policy.required_silence(progress(heard=False, partial="turn on the lamp")) == 0.5
    # What was heard of all of it counts more.
    assert policy.required_silence(progress(None, partial="turn on the")) == 0.5


def test_who_pauses_in_each_turn_is_given_more_time_and_who_stops_it_no_more() -> None:
    policy = AdaptiveSilence(0.5)
    waits = []
    for turn_id in range(1, 41):
        pauses = (0.4,) if turn_id <= 20 else (0.1,)
        waits.append(policy.required_silence(progress(turn_id=turn_id, pauses=pauses)))
    assert waits[0] == 0.5
    assert waits[:20] == sorted(waits[:20])
    assert 0.75 <= waits[20] <= 0.8
    assert waits[-1] < 0.52
    assert policy.required_silence(progress(Completeness.COMPLETE, turn_id=41)) < 0.24


def test_who_goes_on_behind_the_end_of_a_turn_was_cut_off() -> None:
    soon, late = AdaptiveSilence(0.5), AdaptiveSilence(0.5)
    for turn_id in range(1, 11):
        soon.required_silence(progress(turn_id=turn_id, since_last=0.9))
        late.required_silence(progress(turn_id=turn_id, since_last=4.0))
    assert soon.required_silence(progress(turn_id=11)) > 0.7
    assert late.required_silence(progress(turn_id=11)) == 0.5


def test_a_device_keeps_what_was_learned_and_the_longest_unseen_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(endpointing, "MAX_DEVICES", 2)
    silences = AdaptiveSilences(0.5)

    def wait(device: str, turns: int = 0) -> float:
        policy = silences.policy(device)
        for turn_id in range(turns):
            policy.required_silence(progress(turn_id=turn_id, pauses=(0.4,)))
        return policy.required_silence(progress(turn_id=99))

    learned = wait("kitchen", 10)
    assert learned > 0.6
    assert wait("bedroom") == 0.5, "it is another one"
    assert wait("kitchen") == pytest.approx(learned, abs=0.01)
    wait("hall")
    assert wait("bedroom") == 0.5
    assert wait("kitchen") == 0.5, "forgotten"


def test_hesitation_is_a_share() -> None:
    hesitation = Hesitation()
    for _ in range(100):
        hesitation.learn(True)
    assert 0.99 < hesitation.often <= 1.0


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


async def test_a_policy_sees_what_was_heard_before_this_pause_alone() -> None:
    policy = Scripted(lambda _: 2.0)
    detector = Detector(policy, ListenMode.AUTO)
    await detector.spoken()
    early = EarlyTranscript(detector.turn_id(), "turn on", completeness=Completeness.INCOMPLETE)
    detector.context.early = early
    await detector.audio(0.06)
    assert policy.asked[-1].early is early
    assert policy.asked[-1].since_last is None
    await detector.feed(VoiceStarted(0))
    await detector.audio(0.6)
    detector.context.early = early  # it comes too late, of the pause before
    await detector.feed(VoiceEnded(0))
    await detector.audio(0.06)
    assert policy.asked[-1].early is None


async def test_a_policy_sees_how_soon_the_user_spoke_again() -> None:
    policy = Scripted(lambda _: 0.48)
    detector = Detector(policy, ListenMode.AUTO)
    await detector.spoken()
    await detector.audio(0.48)
    assert detector.ended()
    detector.context.early = EarlyTranscript(detector.turn_id(), "of the turn before")
    await detector.audio(0.3)
    await detector.feed(VoiceStarted(60))
    await detector.audio(0.6)
    await detector.feed(VoiceEnded(0))
    last = policy.asked[-1]
    assert last.since_last == pytest.approx(0.48 + 0.3 - 0.06)
    assert last.early is None
    assert last.turn_id > policy.asked[0].turn_id


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


async def test_words_that_become_known_end_a_turn_without_another_packet() -> None:
    detector = Detector(AdaptiveSilence(0.5), ListenMode.AUTO)
    await detector.spoken()
    await detector.audio(0.3)
    assert detector.deadline() > detector.now + 0.2
    early = EarlyTranscript(detector.turn_id(), "go", completeness=Completeness.COMPLETE)
    detector.context.early = early
    assert detector.deadline() <= detector.now
    (ended,) = await detector.station.expire(detector.now)
    assert isinstance(ended, TurnEnded)
    assert ended.reason == "silence"
    marks = detector.context.timeline(ended.turn_id).marks
    assert marks["turn_end"] - marks["voice_end"] == pytest.approx(0.3)


async def test_the_time_in_which_others_were_heard_counts_for_who_is_given_more() -> None:
    for wanted, required in ((1.0, 0.5), (1.2, 0.6), (0.5, 0.5), (0.2, 0.2)):
        detector = Detector(FixedSilence(wanted), ListenMode.AUTO)
        await detector.feed(ListenStart(ListenMode.AUTO))
        await detector.feed(VoiceStarted(0))
        await detector.audio(1.2)
        await detector.feed(VoiceEnded(0, 600))
        await detector.audio(2.0)
        (ended,) = detector.ended()
        marks = detector.context.timeline(ended.turn_id).marks
        waited = marks["turn_end"] - marks["voice_end"] - 0.6
        assert required - 1e-6 <= waited < required + PACKET_S


async def test_in_manual_mode_the_button_decides() -> None:
    policy = Scripted(lambda _: 0.0)
    detector = Detector(policy, ListenMode.MANUAL)
    await detector.feed(ListenStart(ListenMode.MANUAL))
    await detector.audio(5.0)
    assert not detector.ended()
    assert not policy.asked
    assert detector.station.deadline is None


# ── where a turn begins, ends, and what belongs to it ────────────────────────────────────────────
