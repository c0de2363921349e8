"""When a turn ends: the default policy, how the turn detector applies a policy, and its cuts."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import pytest

from vixio.core.audio import LISTEN_RATE, pcm_bytes
from vixio.core.chunk import (
    Abort,
    AudioIn,
    Chunk,
    ListenMode,
    ListenStart,
    ListenStop,
    PartialTranscript,
    TextInput,
    TurnDropped,
    TurnEnded,
    TurnStarted,
    VoiceEnded,
    VoiceStarted,
)
from vixio.core.history import History
from vixio.core.metrics import Counters
from vixio.core.station import StationContext
from vixio.core.tools.toolset import ToolSet
from vixio.core.turns.endpointing import EndpointingPolicy, FixedSilence, TurnProgress
from vixio.stations.turn_detector import TurnDetectorStation, TurnSettings

PACKET_S = 0.06


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


@dataclass
class Scripted:
    """A policy that answers by a function and keeps what it was asked."""

    answer: Callable[[TurnProgress], float]
    asked: list[TurnProgress] = field(default_factory=list)

    def required_silence(self, progress: TurnProgress) -> float:
        self.asked.append(progress)
        return self.answer(progress)


class Detector:
    """A turn detector fed with packets of 60 ms on a clock of its own."""

    def __init__(
        self,
        policy: EndpointingPolicy | None,
        mode: ListenMode,
        settings: TurnSettings | None = None,
    ) -> None:
        self.context = StationContext("s", "d", History(), ToolSet(), Counters(), _refuse)
        make = None if policy is None else lambda: policy
        self.station = TurnDetectorStation(settings or TurnSettings(end_silence_ms=500), make)
        self.station.bind(self.context, _nowhere)
        self.now = 0.0
        self.made: list[Chunk] = []
        self.mode = mode

    async def feed(self, *chunks: Chunk) -> None:
        for chunk in chunks:
            self.made += await self.station.feed(chunk, self.now)

    async def audio(self, seconds: float) -> None:
        for _ in range(round(seconds / PACKET_S)):
            self.now += PACKET_S
            await self.feed(AudioIn(bytes(pcm_bytes(PACKET_S, LISTEN_RATE)), self.now))

    async def spoken(self) -> None:
        """Begin to listen, and speak for 1.2 s."""
        await self.feed(ListenStart(self.mode))
        await self.feed(VoiceStarted(0))
        await self.audio(1.2)
        await self.feed(VoiceEnded(0))

    def ended(self) -> list[TurnEnded]:
        return [chunk for chunk in self.made if isinstance(chunk, TurnEnded)]

    def deadline(self) -> float:
        deadline = self.station.deadline
        assert deadline is not None
        return deadline

    def turn_id(self) -> int:
        return next(chunk.turn_id for chunk in self.made if isinstance(chunk, TurnStarted))


def _refuse(work: Coroutine[Any, Any, None]) -> None:
    raise AssertionError("a turn detector starts no task")


async def _nowhere(_: object) -> None: ...


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

EIGHTH_S = 0.125
"""Of a second: sums of it are exact."""


class Marked(Detector):
    """A detector fed with numbered packets of an eighth of a second."""

    def __init__(
        self,
        settings: TurnSettings,
        policy: EndpointingPolicy | None = None,
        mode: ListenMode = ListenMode.AUTO,
    ) -> None:
        super().__init__(policy, mode, settings)
        self.packets = 0

    async def eighths(self, count: int, gap_ms: int = 0, seconds: float = EIGHTH_S) -> None:
        for _ in range(count):
            self.now += seconds
            self.packets += 1
            pcm = self.packets.to_bytes(2, "little") * (pcm_bytes(seconds, LISTEN_RATE) // 2)
            await self.feed(AudioIn(pcm, self.now, gap_ms))

    def heard(self) -> list[int]:
        """Return the numbers of the packets that the turns have."""
        return [int.from_bytes(one.pcm[:2], "little") for one in self.made if type(one) is AudioIn]

    def kinds(self) -> list[str]:
        return [type(chunk).__name__ for chunk in self.made if type(chunk) is not AudioIn]


@pytest.mark.parametrize(
    ("pre_roll_ms", "ago_ms", "heard"),
    [
        (0, 0, []),
        (300, 0, [8, 9, 10]),
        (300, 75, [8, 9, 10]),
        (300, 250, [6, 7, 8, 9, 10]),
        (300, 5_000, [5, 6, 7, 8, 9, 10]),
        (150, 5_000, [7, 8, 9, 10]),
    ],
)
async def test_audio_before_the_voice_belongs_to_the_turn(
    pre_roll_ms: int, ago_ms: int, heard: list[int]
) -> None:
    detector = Marked(TurnSettings(pre_roll_ms=pre_roll_ms))
    await detector.feed(ListenStart(ListenMode.AUTO))
    await detector.eighths(10)
    await detector.feed(VoiceStarted(ago_ms))
    assert detector.heard() == heard
    await detector.eighths(4)
    await detector.feed(VoiceEnded(0))
    await detector.eighths(4)
    assert detector.heard()[len(heard) :] == [11, 12, 13, 14, 15, 16, 17, 18]
    (ended,) = detector.ended()
    assert ended.speech_ms == 500 + min(ago_ms, 125 * len(heard))


@pytest.mark.parametrize(("ago_ms", "heard"), [(0, [2]), (1_500, [2])])
async def test_a_packet_that_is_longer_than_what_is_kept_is_kept(
    ago_ms: int, heard: list[int]
) -> None:
    detector = Marked(TurnSettings())
    await detector.feed(ListenStart(ListenMode.AUTO))
    await detector.eighths(2, seconds=1.0)
    await detector.feed(VoiceStarted(ago_ms))
    assert detector.heard() == heard


@pytest.mark.parametrize(("ago_ms", "heard", "speech_ms"), [(1, 25, 501), (2_000, 40, 2_500)])
async def test_a_long_pre_roll(ago_ms: int, heard: int, speech_ms: int) -> None:
    detector = Marked(TurnSettings(pre_roll_ms=3_000))
    await detector.feed(ListenStart(ListenMode.AUTO))
    await detector.eighths(60)
    await detector.feed(VoiceStarted(ago_ms))
    assert len(detector.heard()) == heard
    await detector.eighths(4)
    await detector.feed(VoiceEnded(0))
    await detector.eighths(4)
    assert [ended.speech_ms for ended in detector.ended()] == [speech_ms]


async def test_a_device_that_never_states_that_it_listens_is_heard_as_if_it_had() -> None:
    policy = Scripted(lambda _: 0.5)
    detector = Marked(TurnSettings(), policy)
    assert detector.station.deadline is None
    await detector.feed(VoiceStarted(0))
    assert detector.deadline() == 2.0, "as long as packets may be absent"
    await detector.feed(ListenStop())
    await detector.eighths(10)
    assert detector.heard() == []
    await detector.feed(VoiceStarted(5_000))
    assert detector.heard() == [5, 6, 7, 8, 9, 10]
    await detector.feed(VoiceEnded(0))
    await detector.eighths(4)
    assert {progress.mode for progress in policy.asked} == {ListenMode.AUTO}
    assert detector.ended()[-1].speech_ms == 750
    await detector.eighths(10)
    await detector.feed(VoiceStarted(5_000))
    assert detector.heard()[-6:] == [19, 20, 21, 22, 23, 24], "the next turn has its pre-roll"
    assert len(detector.heard()) == 6 + 4 + 6


async def test_the_very_first_turn_has_its_pre_roll() -> None:
    detector = Marked(TurnSettings())
    await detector.eighths(10)
    await detector.feed(VoiceStarted(5_000))
    assert detector.heard() == [5, 6, 7, 8, 9, 10]


async def test_a_packet_behind_a_stall_may_reach_the_limit() -> None:
    detector = Marked(TurnSettings(max_utterance_ms=125))
    await detector.feed(ListenStart(ListenMode.AUTO), VoiceStarted(0))
    await detector.station.expire(detector.deadline())
    await detector.eighths(1)
    assert detector.ended() == [TurnEnded(2, "limit", 125)]
    assert detector.context.timeline(2).marks["turn_end"] == detector.now


async def test_silence_is_counted_with_what_the_network_lost() -> None:
    detector = Marked(TurnSettings())
    await detector.feed(ListenStart(ListenMode.AUTO), VoiceStarted(0))
    await detector.eighths(8)
    await detector.feed(VoiceEnded(125))
    await detector.eighths(1, gap_ms=125)
    assert not detector.ended()
    await detector.eighths(1)
    (ended,) = detector.ended()
    turn_id = detector.turn_id()
    assert (ended.turn_id, ended.reason, ended.speech_ms) == (turn_id, "silence", 750)
    assert detector.context.timeline(turn_id).marks == {
        "voice_end": detector.now - 0.5,
        "turn_end": detector.now,
    }


@pytest.mark.parametrize("mode", [ListenMode.AUTO, ListenMode.MANUAL])
async def test_a_turn_is_no_longer_than_its_limit(mode: ListenMode) -> None:
    detector = Marked(TurnSettings(max_utterance_ms=1_000), mode=mode)
    await detector.feed(ListenStart(mode))
    if mode is ListenMode.AUTO:
        await detector.feed(VoiceStarted(0))
    await detector.eighths(7)
    assert not detector.ended()
    await detector.eighths(1)
    turn_id = detector.turn_id()
    assert detector.ended() == [TurnEnded(turn_id, "limit", 1_000)]
    assert detector.context.timeline(turn_id).marks["turn_end"] == detector.now
    assert detector.heard() == [1, 2, 3, 4, 5, 6, 7, 8]


async def test_a_limit_that_is_reached_in_a_pause() -> None:
    detector = Marked(TurnSettings(max_utterance_ms=1_000), FixedSilence(0.75))
    await detector.feed(ListenStart(ListenMode.AUTO), VoiceStarted(0))
    await detector.eighths(4)
    await detector.feed(VoiceEnded(0))
    await detector.eighths(4)
    assert detector.ended() == [TurnEnded(detector.turn_id(), "limit", 500)]


async def test_the_button_ends_what_was_heard_and_drops_what_was_not() -> None:
    detector = Marked(TurnSettings(), mode=ListenMode.MANUAL)
    await detector.feed(ListenStop())
    await detector.feed(ListenStart(ListenMode.MANUAL), ListenStop())
    assert detector.made == [
        ListenStop(),
        ListenStart(ListenMode.MANUAL),
        TurnStarted(1),
        TurnDropped(1),
        ListenStop(),
    ]
    await detector.feed(ListenStart(ListenMode.MANUAL))
    await detector.eighths(2)
    await detector.feed(ListenStop())
    assert detector.made[-2:] == [TurnEnded(2, "stop", 250), ListenStop()]
    assert detector.context.timeline(2).marks["turn_end"] == detector.now
    await detector.feed(ListenStart(ListenMode.MANUAL), ListenStop())
    assert detector.made[-2:] == [TurnDropped(3), ListenStop()]


async def test_a_voice_without_a_packet_is_heard() -> None:
    detector = Marked(TurnSettings())
    await detector.feed(ListenStart(ListenMode.AUTO), VoiceStarted(0), ListenStop())
    assert [ended.reason for ended in detector.ended()] == ["stop"]


async def test_a_voice_that_goes_on_ends_the_pause() -> None:
    policy = Scripted(lambda _: 5.0)
    detector = Marked(TurnSettings(), policy)
    await detector.feed(ListenStart(ListenMode.AUTO), VoiceStarted(0), VoiceStarted(0))
    await detector.eighths(2)
    await detector.feed(VoiceEnded(0))
    await detector.eighths(2)
    await detector.feed(VoiceStarted(0))
    await detector.eighths(2)
    assert policy.asked[-1].pauses == (), "the voice was there at the second start"
    await detector.feed(ListenStop())
    assert detector.ended() == [TurnEnded(1, "stop", 750)]


@pytest.mark.parametrize("control", [Abort(""), TextInput("hello"), ListenStart(ListenMode.AUTO)])
async def test_a_control_drops_the_turn_and_what_came_before_it(control: Chunk) -> None:
    detector = Marked(TurnSettings())
    await detector.feed(ListenStart(ListenMode.AUTO))
    await detector.eighths(2)
    await detector.feed(control)
    assert "TurnDropped" not in detector.kinds()
    await detector.feed(VoiceStarted(5_000))
    assert detector.heard() == []
    await detector.eighths(1)
    await detector.feed(control)
    assert detector.made[-2:] == [TurnDropped(1), control]
    assert detector.station.deadline is None
    await detector.eighths(1)
    assert detector.kinds().count("TurnStarted") == 1


async def test_a_stalled_sentence_goes_on_in_a_turn_of_its_own() -> None:
    detector = Marked(TurnSettings(stall_ms=1_000))
    await detector.feed(ListenStart(ListenMode.AUTO), VoiceStarted(0))
    await detector.eighths(4)
    deadline = detector.deadline()
    assert deadline == detector.now + 1.0
    assert not await detector.station.expire(deadline - 0.125)
    assert await detector.station.expire(deadline) == (TurnEnded(1, "gap", 500),)
    assert detector.context.timeline(1).marks["voice_end"] == deadline
    assert detector.station.deadline is None
    await detector.eighths(2)
    assert detector.kinds() == ["ListenStart", "TurnStarted", "TurnStarted"]
    assert detector.heard() == [1, 2, 3, 4, 5, 6]
    await detector.feed(VoiceEnded(0))
    await detector.eighths(5)
    assert [ended.turn_id for ended in detector.ended()] == [2]
    await detector.eighths(2)
    assert detector.kinds().count("TurnStarted") == 2, "it goes on once"


@pytest.mark.parametrize("control", [Abort(""), ListenStart(ListenMode.AUTO)])
async def test_a_stalled_sentence_does_not_go_on_behind_a_control(control: Chunk) -> None:
    detector = Marked(TurnSettings())
    await detector.feed(ListenStart(ListenMode.AUTO), VoiceStarted(0))
    await detector.station.expire(detector.deadline())
    await detector.feed(control)
    await detector.eighths(2)
    assert detector.kinds().count("TurnStarted") == 1


async def test_a_pause_in_which_packets_stop_is_counted_to_its_end() -> None:
    detector = Marked(TurnSettings(jitter_ms=250))
    await detector.feed(ListenStart(ListenMode.AUTO), VoiceStarted(0))
    await detector.eighths(4)
    await detector.feed(VoiceEnded(125))
    await detector.eighths(1)
    deadline = detector.deadline()
    assert deadline == detector.now + 0.5, "half of the silence is left, and the jitter"
    assert await detector.station.expire(deadline) == (TurnEnded(1, "gap", 0),)
    assert detector.context.timeline(1).marks == {
        "voice_end": deadline - 0.75,
        "turn_end": deadline,
    }
    await detector.eighths(2)
    assert detector.kinds().count("TurnStarted") == 1


async def test_a_policy_is_asked_about_turns_without_a_button_only() -> None:
    policy = Scripted(lambda _: 0.5)
    detector = Marked(TurnSettings(), policy)
    await detector.feed(ListenStart(ListenMode.AUTO), VoiceEnded(0))
    await detector.feed(ListenStart(ListenMode.MANUAL), VoiceStarted(0))
    await detector.eighths(1)
    await detector.feed(VoiceEnded(0))
    await detector.eighths(1)
    assert not policy.asked
    assert detector.kinds().count("TurnStarted") == 1


async def test_other_chunks_pass() -> None:
    detector = Marked(TurnSettings())
    transcript = PartialTranscript(1, "turn on")
    await detector.feed(transcript)
    assert detector.made == [transcript]
