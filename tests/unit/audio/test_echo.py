"""Which part of the reference lies beside which part of the microphone. The library is a stand-in:
what it is given is the subject; tests/models/test_echo.py has the real one."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from vixio.audio.codec import OpusDecoder, OpusEncoder
from vixio.audio.echo import HELD_MS, TARGET_MS, EchoCanceller
from vixio.core.audio import LISTEN_RATE, AudioFormat

Samples = NDArray[np.int16]
MS = LISTEN_RATE // 1000
PACKET_MS = 60
WAY_S = 0.02
"""From the device to the server."""
HEARD = np.full(960, 7, np.int16).tobytes()
CLEANED = np.full(960, 8, np.int16).tobytes()


class Processor:
    """Keeps what it was given, and returns the microphone with each sample one higher."""

    def __init__(self, sample_rate: int, echo_cancellation: bool) -> None:
        assert (sample_rate, echo_cancellation) == (LISTEN_RATE, True)
        self.near: list[Samples] = []
        self.far: list[Samples] = []
        self.resets = 0
        MADE.append(self)

    def process(self, near: Samples, far: Samples) -> Samples:
        assert len(near) == len(far)
        self.near.append(near)
        self.far.append(far)
        return near + np.int16(1)

    def reset(self) -> None:
        self.resets += 1


MADE: list[Processor] = []


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("pywebrtc_audio")
    vars(module)["AudioProcessor"] = Processor
    monkeypatch.setitem(sys.modules, "pywebrtc_audio", module)
    MADE.clear()


class Device:
    """A device with its way to the server. All its microphone hears is a constant."""

    def __init__(self) -> None:
        self.canceller = EchoCanceller()
        self.clock = 100.0
        """At the end of the last packet of the microphone, on the server's clock."""
        self.skewed_ms = 0
        """By so much the loudspeaker is later than it should be."""
        self.began = 0.0
        self.played = b""
        for _ in range(3):
            self.sends()

    def speaks(self, packets: int, seed: int = 1) -> None:
        """The server sends a reply of noise."""
        encoder = OpusEncoder(AudioFormat(24_000, PACKET_MS))
        noise = np.random.default_rng(seed).integers(-9_000, 9_000, packets * 24 * PACKET_MS)
        sent = encoder.encode(noise.astype("<i2").tobytes(), 24_000)
        with OpusDecoder() as decoder:
            self.played = b"".join(map(decoder.decode, sent))
        self.began = self.clock
        self.canceller.begin(self.clock)
        self.canceller.play(sent, 0, PACKET_MS, self.clock)

    def sends(self, *, stamped: bool = False, late: float = 0.0, lost: bool = False) -> bytes:
        """A packet of the microphone comes."""
        self.clock += PACKET_MS / 1000
        if lost:
            return b""
        elapsed = round((self.clock - self.began - WAY_S) * 1000) - self.skewed_ms
        stamp = max(0, elapsed // PACKET_MS - 1) * PACKET_MS if stamped else 0
        return self.canceller.clean(HEARD, self.clock + WAY_S + late, stamp)

    @property
    def laid(self) -> list[int]:
        """For each packet of the microphone, which millisecond of the reply lay at its end."""
        ends = [far[-64:].tobytes() for far in MADE[0].far]
        places = [self.played.find(end) for end in ends if any(end)]
        return [place // 2 // MS + 4 for place in places]


def test_the_microphone_passes_untouched_while_nothing_is_played() -> None:
    device = Device()
    assert device.sends() == HEARD
    assert MADE == []
    device.speaks(3)
    assert device.sends() == CLEANED
    for _ in range(11):  # 180 ms of speech and half a second
        assert device.sends() == CLEANED
    assert device.sends() == HEARD
    device.speaks(3)
    assert device.sends() == CLEANED
    assert len(MADE) == 1, "the second reply goes on with the same one"


def steps(first: int, count: int) -> list[int]:
    return [first + number * PACKET_MS for number in range(count)]


def test_a_packet_of_the_microphone_lies_beside_what_was_played_when_it_came() -> None:
    device = Device()
    device.speaks(10)
    for _ in range(9):
        device.sends()
    assert device.laid == steps(PACKET_MS + 20, 9)  # it took 20 ms


def test_packets_that_come_late_and_then_at_once_lie_where_they_belong() -> None:
    device = Device()
    device.speaks(40)
    for late in [0.0] * 5 + [0.3, 0.24, 0.18, 0.12, 0.06] + [0.0] * 20:
        device.sends(late=late)
    assert device.laid == steps(PACKET_MS + 20, 30)
    assert MADE[0].resets == 0


def test_what_is_lost_of_the_microphone_is_silence_of_its_length() -> None:
    device = Device()
    device.speaks(20)
    for number in range(18):
        device.sends(stamped=True, lost=number in {8, 9})
    near = np.concatenate(MADE[0].near)
    assert np.flatnonzero(near == 0).tolist() == list(range(8 * 960, 10 * 960))
    assert len(near) == 18 * 960
    assert device.laid == [each for each in steps(PACKET_MS + 20, 18) if each != 8 * 60 + 80]
    assert MADE[0].resets == 0


def test_without_timestamps_it_begins_anew_behind_a_loss_and_hears_nothing_at_first() -> None:
    device = Device()
    device.speaks(40)
    heard = [device.sends(lost=number == 8) for number in range(30)]
    assert MADE[0].resets == 1
    assert device.laid[-1] == 30 * PACKET_MS + 20
    silent = [number for number, each in enumerate(heard) if each and not any(each)]
    assert len(silent) == HELD_MS // PACKET_MS
    assert silent[0] < 20
    assert heard[-1] == CLEANED


def test_packets_that_come_before_they_can_have_been_recorded_are_laid_anew() -> None:
    device = Device()
    device.clock += 5.0  # the microphone was off: what came before is too old to count
    device.speaks(40)
    for number in range(20):
        device.sends(late=0.0 if number > 9 else 0.08)
    assert MADE[0].resets == 1
    assert device.laid == [
        *(each + 80 for each in steps(PACKET_MS + 20, 10)),
        *steps(11 * PACKET_MS + 20, 10),
    ]


def test_what_a_device_plays_much_later_is_laid_later() -> None:
    device = Device()
    device.skewed_ms = 500
    device.speaks(40)
    for _ in range(30):
        device.sends(stamped=True)
    assert MADE[0].resets == 1
    played = (30 * PACKET_MS - 20 - 500) // PACKET_MS * PACKET_MS - PACKET_MS
    assert device.laid[-1] == played + TARGET_MS + PACKET_MS
    device.speaks(40, seed=2)
    for _ in range(30):
        device.sends(stamped=True)
    assert MADE[0].resets == 1, "it is remembered"
    assert device.laid[-1] == played + TARGET_MS + PACKET_MS


def test_a_device_that_had_run_dry_plays_the_rest_later() -> None:
    device = Device()
    device.speaks(40)
    for _ in range(10):
        device.sends(stamped=True)
    device.skewed_ms += 3 * PACKET_MS
    for _ in range(3):
        device.sends()  # nothing was played, so there is no timestamp
    for _ in range(10):
        device.sends(stamped=True)
    assert MADE[0].resets == 0
    assert device.laid == steps(PACKET_MS + 20, 13) + steps(11 * PACKET_MS + 20, 10)


def test_a_timestamp_that_comes_too_late_for_its_packet_moves_nothing() -> None:
    device = Device()
    device.speaks(60)
    device.sends()
    for _ in range(2):
        device.sends(stamped=True)
    before = device.laid[-1]
    device.sends()
    device.skewed_ms = PACKET_MS  # from here on each timestamp is that of the packet before
    for _ in range(4):
        device.sends(stamped=True)
    assert device.laid[-1] == before + 5 * PACKET_MS
    assert device.canceller.jumps == MADE[0].resets == 0


def test_a_new_reply_takes_the_place_of_what_the_device_drops() -> None:
    device = Device()
    device.speaks(30)
    device.sends()
    device.speaks(2, seed=2)
    for _ in range(9):
        device.sends()
    assert device.laid[1:] == steps(PACKET_MS + 20, 1)
    assert not any(map(np.any, MADE[0].far[4:]))


def test_given_up_it_is_silent_while_the_device_plays() -> None:
    device = Device()
    device.sends()
    device.speaks(3)
    device.sends()
    device.canceller.give_up()
    assert device.canceller.broken
    assert not any(device.sends())
    device.speaks(3)
    assert not any(device.sends())
    device.clock += 1.0
    assert device.sends() == HEARD
    assert len(MADE) == 1


def test_little_is_kept_of_a_long_reply() -> None:
    device = Device()
    device.speaks(1)
    encoder = OpusEncoder(AudioFormat(24_000, PACKET_MS))
    packet = encoder.encode(bytes(2 * 24 * PACKET_MS), 24_000)
    for number in range(1, 1_000):
        device.canceller.play(packet, number * PACKET_MS, PACKET_MS, device.clock)
        device.sends()
    reference = device.canceller._reference
    assert len(reference._pieces) < 120
    assert len(reference._places) <= 101
    device.canceller.close()
