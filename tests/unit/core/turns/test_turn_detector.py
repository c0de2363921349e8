"""What belongs to a turn: its pre-roll, its limits, and what cuts it short."""

from __future__ import annotations

import pytest

from tests.unit.core.turns.detector import Detector, Scripted
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
from vixio.core.turns.endpointing import EndpointingPolicy, FixedSilence
from vixio.stations.turn_detector import TurnSettings

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
