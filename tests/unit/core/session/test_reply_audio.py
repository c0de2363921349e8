"""Which PCM of a reply is encoded where, and that none is lost or out of order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from vixio.core.audio import pcm_bytes, pcm_seconds
from vixio.core.metrics import Counters
from vixio.core.pacer import Pacer
from vixio.core.session.reply_audio import AHEAD_MS, LOOP_PIECE_S, THREAD_PIECE_S, ReplyAudio
from vixio.core.transport import AudioEncoder
from vixio.testing import ManualConnection
from vixio.testing.clock import run_virtual

RATE = 24_000
PACKET_MS = 60


class Recorder(AudioEncoder):
    """Packets of raw PCM; ``pieces`` holds each piece's thread, PCM and rate."""

    packet_ms = PACKET_MS

    def __init__(self) -> None:
        self.pieces: list[tuple[bool, bytes, int]] = []
        self._pending = b""

    def encode(self, pcm: bytes, sample_rate: int) -> list[bytes]:
        """Note the piece."""
        on_loop = threading.current_thread() is threading.main_thread()
        self.pieces.append((on_loop, pcm, sample_rate))
        self._pending += pcm
        size = pcm_bytes(PACKET_MS / 1000, sample_rate)
        whole = len(self._pending) // size * size
        packets = [self._pending[at : at + size] for at in range(0, whole, size)]
        self._pending = self._pending[whole:]
        return packets

    def flush(self) -> list[bytes]:
        """Return the rest."""
        rest, self._pending = self._pending, b""
        return [rest] if rest else []


class Device(ManualConnection):
    """One encoder, which the test can look at."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = Recorder()

    def new_encoder(self) -> AudioEncoder:
        """Return the one."""
        return self.encoder


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as executor:
        yield executor


def sound(seconds: float) -> bytes:
    """No two samples near each other are alike."""
    return b"".join(
        (number % 65_536).to_bytes(2, "little") for number in range(round(seconds * RATE))
    )


async def test_the_beginning_on_the_loop_and_the_rest_in_few_pieces(
    threads: ThreadPoolExecutor,
) -> None:
    device, said = Device(), sound(1.9)
    audio = ReplyAudio(device, Pacer(device, Counters(), PACKET_MS), threads)
    step = pcm_bytes(0.1, RATE)
    for start in range(0, len(said), step):
        await audio.put(said[start : start + step], RATE)
    await audio.flush()
    pieces = device.encoder.pieces
    assert b"".join(pcm for _, pcm, _ in pieces) == said
    here = [pcm_seconds(pcm, RATE) for on_loop, pcm, _ in pieces if on_loop]
    there = [pcm_seconds(pcm, RATE) for on_loop, pcm, _ in pieces if not on_loop]
    assert [on_loop for on_loop, _, _ in pieces] == [True] * len(here) + [False] * len(there)
    assert AHEAD_MS / 1000 <= sum(here) <= AHEAD_MS / 1000 + LOOP_PIECE_S
    assert max(here) <= LOOP_PIECE_S
    assert there[:-1] == [THREAD_PIECE_S, THREAD_PIECE_S]


async def test_a_long_piece_does_not_hold_the_loop(threads: ThreadPoolExecutor) -> None:
    device, said = Device(), sound(1.5)
    audio = ReplyAudio(device, Pacer(device, Counters(), PACKET_MS), threads)
    await audio.put(said, RATE)
    await audio.flush()
    pieces = device.encoder.pieces
    assert b"".join(pcm for _, pcm, _ in pieces) == said
    assert max(len(pcm) for on_loop, pcm, _ in pieces if on_loop) <= pcm_bytes(LOOP_PIECE_S, RATE)
    assert not all(on_loop for on_loop, _, _ in pieces)


async def test_what_is_held_back_keeps_its_rate(threads: ThreadPoolExecutor) -> None:
    device = Device()
    audio = ReplyAudio(device, Pacer(device, Counters(), PACKET_MS), threads)
    await audio.put(sound(0.9), RATE)
    await audio.put(bytes(pcm_bytes(0.3, 16_000)), 16_000)
    await audio.flush()
    lengths = {RATE: 0.0, 16_000: 0.0}
    for _, pcm, rate in device.encoder.pieces:
        lengths[rate] += pcm_seconds(pcm, rate)
    assert lengths == pytest.approx({RATE: 0.9, 16_000: 0.3})
    rates = [rate for _, _, rate in device.encoder.pieces]
    assert rates == sorted(rates, reverse=True)


def test_what_is_held_back_is_sent_before_the_device_runs_dry(threads: ThreadPoolExecutor) -> None:
    """The next sentence may be far off; so may the next piece of this one."""

    async def reply() -> None:
        device, counters = Device(), Counters()
        pacer = Pacer(device, counters, PACKET_MS)
        audio = ReplyAudio(device, pacer, threads)
        said = sound(1.08)
        for start in range(0, len(said), 4_800):
            await audio.put(said[start : start + 4_800], RATE)
        queued = pacer.unsent_ms
        assert queued < 1_080  # some of it is held back
        running = asyncio.create_task(pacer.run())
        await device.wait_for("audio", 18)
        await audio.put(said[: len(said) // 9], RATE)
        await audio.flush()
        await device.wait_for("audio", 20)
        pacer.finish()
        await running
        assert b"".join(pcm for _, pcm, _ in device.encoder.pieces) == said + said[: len(said) // 9]
        assert counters.get("pacer.starved") == 0

    run_virtual(reply())


async def test_after_the_end_nothing_held_back_is_encoded(threads: ThreadPoolExecutor) -> None:
    device = Device()
    audio = ReplyAudio(device, Pacer(device, Counters(), PACKET_MS), threads)
    await audio.put(sound(0.9), RATE)
    encoded = sum(len(pcm) for _, pcm, _ in device.encoder.pieces)
    assert encoded < pcm_bytes(0.9, RATE)
    audio.release()
    await audio.flush()
    assert sum(len(pcm) for _, pcm, _ in device.encoder.pieces) == encoded
