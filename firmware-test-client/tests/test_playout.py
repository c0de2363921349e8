"""The decode queue and the loudspeaker's clock, without a socket."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from scripted_server import tone_packets

from firmware_test_client.framing import AudioPacket
from firmware_test_client.playout import Heard, Playout
from firmware_test_client.replies import Reply


class Observer:
    """Records the events of the playout."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.sounds: list[tuple[float, float]] = []
        self.errors: list[str] = []
        self.timestamps: list[int] = []
        self.drained = asyncio.Event()

    def on_sound(self, pcm: bytes, rate: int, start: float) -> None:
        self.sounds.append((start, len(pcm) / 2 / rate))

    def on_heard(self, heard: Heard, timestamp: int) -> None:
        self.heard.append(heard)
        self.timestamps.append(timestamp)

    def on_decode_error(self, reply: Reply, error: str) -> None:
        self.errors.append(error)

    def on_drained(self) -> None:
        self.drained.set()

    async def silence(self) -> None:
        async with asyncio.timeout(30):
            await self.drained.wait()


def make(*, decode: bool = True, frame_ms: int = 20) -> tuple[Playout, Observer, Reply]:
    observer = Observer()
    loop = asyncio.get_running_loop()
    playout = Playout(loop, observer, decode=decode)
    playout.configure(24000, frame_ms)
    return playout, observer, Reply(0, loop.time())


def push(playout: Playout, reply: Reply, packets: list[bytes]) -> list[bool]:
    now = asyncio.get_running_loop().time()
    return [playout.push(AudioPacket(p, i), reply, now) for i, p in enumerate(packets)]


@pytest.mark.parametrize("decode", [True, False])
async def test_frames_play_one_after_another_in_real_time(decode: bool) -> None:
    playout, observer, reply = make(decode=decode)
    begin = asyncio.get_running_loop().time()
    push(playout, reply, tone_packets(10, frame_ms=20))
    await observer.silence()
    took = asyncio.get_running_loop().time() - begin
    assert took >= 0.2
    times = [heard.time for heard in observer.heard]
    assert [b - a for a, b in itertools.pairwise(times)] == pytest.approx([0.02] * 9)
    assert (reply.played, reply.underruns, reply.late) == (10, 0, 0)
    assert all(bool(heard.pcm) is decode for heard in observer.heard)


async def test_newest_is_dropped_beyond_forty_waiting() -> None:
    playout, observer, reply = make()
    taken = push(playout, reply, tone_packets(50, frame_ms=20))
    # One plays, two are decoded, forty wait: main/audio/audio_service.h.
    assert taken == [True] * 43 + [False] * 7
    assert (reply.overflows, reply.max_queue, playout.queued) == (7, 40, 40)
    await observer.silence()
    assert observer.timestamps == list(range(43))
    assert reply.clipped_ms == 7 * 20


@pytest.mark.parametrize(("late_s", "lost"), [(0.001, 44), (0.31, 22), (1.01, 0)])
async def test_a_late_event_loop_loses_nothing(late_s: float, lost: int) -> None:
    """What waited in the socket arrives at once, where a device would have played it meanwhile."""
    playout, observer, reply = make()
    now = asyncio.get_running_loop().time()
    packets = [AudioPacket(packet, i) for i, packet in enumerate(tone_packets(88, frame_ms=20))]
    assert all(playout.push(each, reply, now) for each in packets[:8])
    # The first one ends; 43 have room, and those that were to be played in the time after that.
    taken = [playout.push(each, reply, now + 0.02 + late_s) for each in packets[8:]]
    assert taken.count(False) == reply.overflows == lost
    observer.drained.clear()
    await observer.silence()
    assert reply.played == 88 - lost


async def test_underrun_is_a_gap_between_frames_and_not_the_end() -> None:
    playout, observer, reply = make()
    first, second = tone_packets(2, frame_ms=20)
    push(playout, reply, [first])
    await observer.silence()
    observer.drained.clear()
    await asyncio.sleep(0.05)
    push(playout, reply, [second])
    await observer.silence()
    assert reply.underruns == 1
    assert 45 <= reply.gap_ms < 1000
    assert reply.late == 1


async def test_a_gap_between_replies_is_no_underrun() -> None:
    playout, observer, reply = make()
    first, second = tone_packets(2, frame_ms=20)
    push(playout, reply, [first])
    await observer.silence()
    observer.drained.clear()
    other = Reply(1, 0.0)
    push(playout, other, [second])
    await observer.silence()
    assert (reply.underruns, other.underruns) == (0, 0)


async def test_reset_empties_the_queues_but_not_the_loudspeaker() -> None:
    playout, observer, reply = make()
    push(playout, reply, tone_packets(10, frame_ms=20))
    playout.reset()
    assert not playout.idle
    await observer.silence()
    assert reply.played == 1
    assert reply.clipped_ms == 9 * 20


@pytest.mark.parametrize("decode", [True, False])
async def test_packets_longer_than_announced_are_refused(decode: bool) -> None:
    playout, observer, reply = make(decode=decode)
    push(playout, reply, tone_packets(1, frame_ms=60))
    await observer.silence()
    assert reply.decode_errors == 1
    assert len(observer.errors) == 1
    assert observer.heard == []


async def test_garbage_is_dropped_and_the_next_packet_plays() -> None:
    playout, observer, reply = make()
    push(playout, reply, [b"\xff\xff\xff", *tone_packets(1, frame_ms=20)])
    await observer.silence()
    assert (reply.decode_errors, reply.played) == (1, 1)
