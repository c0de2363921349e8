"""What one connection may send, on an artificial clock."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from tests.unit.transports.xiaozhi.support import opus_packets
from vixio.transports.admission.limits import Limits
from vixio.transports.xiaozhi.framing import VERSIONS, Version, build_frame
from vixio.transports.xiaozhi.websocket.quota import (
    MAX_FRAGMENTS,
    InputQuota,
    Verdict,
    packet_seconds,
)

TAKE, DROP, CLOSE = Verdict.TAKE, Verdict.DROP, Verdict.CLOSE
OFF = Limits(audio_burst=0, message_burst=0)


def binary(data: bytes) -> Frame:
    return Frame(Opcode.BINARY, data)


@pytest.mark.parametrize("frame_ms", [20, 40, 60])
def test_the_first_bytes_tell_the_duration(frame_ms: int) -> None:
    for packet in opus_packets(0.3, 16_000, frame_ms):
        assert packet_seconds(packet) == pytest.approx(frame_ms / 1000)
        assert packet_seconds(b"head" + packet, 4) == pytest.approx(frame_ms / 1000)


@pytest.mark.parametrize(
    ("packet", "seconds"),
    [
        (b"", 0),
        (b"\x58", 0.06),  # DTX at 60 ms
        (b"\x80", 0.0025),
        (b"\x59", 0.12),  # two of 60 ms
        (b"\x83\x04", 0.01),
        (b"\x83", 0.0025),
        (b"\x5b\xff", 0.12),  # 63 of 60 ms: no packet holds them
        (b"\x83\x00", 0),
    ],
)
def test_durations_of_odd_packets(packet: bytes, seconds: float) -> None:
    assert packet_seconds(packet) == pytest.approx(seconds)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("frame_ms", [20, 40, 60])
def test_a_device_in_real_time_is_never_limited(version: Version, frame_ms: int) -> None:
    quota = InputQuota(Limits())
    quota.agree(version)
    packets = opus_packets(1.0, 16_000, frame_ms)
    at = 0.0
    for number in range(100_000 // frame_ms * 20):  # more than half an hour
        frame = binary(build_frame(version, packets[number % len(packets)]))
        assert quota.judge(frame, at) is TAKE
        at += frame_ms / 1000 * 0.999  # its clock runs a little fast


def test_catching_up_after_a_stall_passes() -> None:
    quota = InputQuota(Limits())
    at = 50.0
    for stall in (5, 10, 15, 20):
        at += stall
        for _ in range(stall * 50):  # 20 ms frames, all at once
            assert quota.judge(binary(b"\x48" + bytes(60)), at) is TAKE
        at += 60.0


def test_more_than_the_bucket_is_dropped_and_in_the_end_closed() -> None:
    quota = InputQuota(Limits())
    verdicts = [quota.judge(binary(b"\x58" + bytes(99)), 1.0) for _ in range(1_000)]
    taken, dropped = verdicts.count(TAKE), verdicts.count(DROP)
    assert taken == int(20 * 1.25 / 0.06)
    assert verdicts[:taken] == [TAKE] * taken
    assert dropped == taken
    assert verdicts[taken + dropped :] == [CLOSE] * (1_000 - taken - dropped)
    assert quota.excess == "too much audio"


def test_an_excess_now_and_then_is_forgiven_a_lasting_one_is_not() -> None:
    now_and_then, lasting = InputQuota(Limits()), InputQuota(Limits())
    packet = binary(b"\x58" + bytes(99))
    at = 0.0
    for _ in range(20):
        for _ in range(500):  # 30 s of audio at once, every ten minutes
            assert now_and_then.judge(packet, at) is not CLOSE
        at += 600.0
    verdicts = [lasting.judge(packet, at + number * 0.03) for number in range(4_000)]
    assert verdicts.index(DROP) < verdicts.index(CLOSE)


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\x80", "tiny packets"),
        (b"", "empty frames"),
        (b"\x48" + bytes(60_000), "large packets"),
    ],
)
def test_frames_and_bytes_are_bounded_as_well(data: bytes, what: str) -> None:
    limits = Limits()
    quota = InputQuota(limits)
    taken = 0
    for second in range(20):
        verdicts = [quota.judge(binary(data), float(second)) for _ in range(1_000)]
        taken += verdicts.count(TAKE)
    assert taken <= limits.frames_per_second * 40, what
    assert taken * len(data) <= limits.audio_bytes_per_second * 40, what


@pytest.mark.parametrize("opcode", [Opcode.TEXT, Opcode.PING, Opcode.PONG])
def test_messages_are_bounded_whatever_they_are(opcode: Opcode) -> None:
    quota = InputQuota(Limits())
    verdicts = [quota.judge(Frame(opcode, b"{}"), 1.0) for _ in range(500)]
    assert verdicts == [TAKE] * 200 + [DROP] * 200 + [CLOSE] * 100
    assert quota.excess == "too many messages"
    # Audio has a quota of its own, and a close frame always passes.
    assert quota.judge(binary(b"\x58"), 1.0) is TAKE
    assert quota.judge(Frame(Opcode.CLOSE, b""), 1.0) is TAKE


def test_large_messages_cost_more() -> None:
    quota = InputQuota(Limits())
    large = Frame(Opcode.TEXT, b"x" * 65_000)
    verdicts = [quota.judge(large, 1.0) for _ in range(60)]
    assert verdicts.count(TAKE) == 4 * 400_000 // 65_000


def test_fragments_pass_whole_or_end_it() -> None:
    quota = InputQuota(Limits())
    first, middle = Frame(Opcode.TEXT, b"a", fin=False), Frame(Opcode.CONT, b"", fin=False)
    assert quota.judge(first, 0.0) is TAKE
    verdicts = [quota.judge(middle, 0.0) for _ in range(300)]
    assert verdicts.count(DROP) == 0
    assert verdicts[-1] is CLOSE
    assert quota.excess == "too many fragments"
    slow = InputQuota(Limits())
    slow.judge(first, 0.0)
    verdicts = [slow.judge(middle, float(second)) for second in range(2_000)]
    assert verdicts.count(TAKE) == MAX_FRAGMENTS - 1


def test_what_is_off_never_limits() -> None:
    quota = InputQuota(OFF)
    for opcode in (Opcode.BINARY, Opcode.TEXT, Opcode.PING):
        frame = Frame(opcode, bytes(60_000))
        assert all(quota.judge(frame, 0.0) is TAKE for _ in range(5_000))
    some = InputQuota(Limits(audio_rate=0, frames_per_second=0))
    assert [some.judge(binary(bytes(32_000)), 0.0) for _ in range(21)] == [TAKE] * 20 + [DROP]


@given(
    st.sampled_from(list(Opcode)),
    st.binary(max_size=40),
    st.booleans(),
    st.sampled_from(VERSIONS),
    st.floats(0, 1e6),
)
def test_no_frame_breaks_it(
    opcode: Opcode, data: bytes, fin: bool, version: Version, at: float
) -> None:
    quota = InputQuota(Limits())
    quota.agree(version)
    for raw in (data, bytearray(data), memoryview(data)):
        assert quota.judge(Frame(opcode, raw, fin), at) in Verdict


def test_noise_as_opus_is_bounded_too() -> None:
    quota = InputQuota(Limits())
    frames = [binary(os.urandom(100)) for _ in range(3_000)]
    assert [quota.judge(frame, 0.0) for frame in frames].count(TAKE) <= 1_500


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("frame_ms", [20, 60, 120])
def test_pcm_in_real_time_is_never_limited(version: Version, frame_ms: int) -> None:
    quota = InputQuota(Limits())
    quota.agree(version, "pcm")
    frame = binary(build_frame(version, bytes(32 * frame_ms)))
    at = 0.0
    for _ in range(2_000_000 // frame_ms):  # more than half an hour
        assert quota.judge(frame, at) is TAKE
        at += frame_ms / 1000 * 0.999


def test_a_stall_of_pcm_passes_and_more_does_not() -> None:
    quota = InputQuota(Limits())
    quota.agree(1, "pcm")
    frame = binary(bytes(32 * 60))
    verdicts = [quota.judge(frame, 5.0) for _ in range(10_000)]
    # 20 s of burst hold 25 s of audio, at 1.25 s a second; then a patience of ten times as much.
    assert verdicts.count(TAKE) == pytest.approx(25 / 0.06, abs=1)
    assert verdicts.count(DROP) == pytest.approx(25 / 0.06, abs=1)
    assert CLOSE in verdicts


def test_a_long_message_of_pcm_costs_what_it_holds() -> None:
    quota = InputQuota(Limits())
    quota.agree(1, "pcm")
    message = binary(bytes(64_000))  # two seconds
    assert [quota.judge(message, 5.0) for _ in range(13)].count(TAKE) == 12
