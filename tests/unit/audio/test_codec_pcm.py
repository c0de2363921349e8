"""PCM on the wire."""

from __future__ import annotations

import numpy as np
import pytest

from vixio.audio.codec import PcmDecoder, PcmEncoder
from vixio.core.audio import AudioFormat


def ramp(samples: int) -> bytes:
    return np.arange(samples, dtype="<i2").tobytes()


@pytest.mark.parametrize("frame_ms", [20, 60, 120])
def test_a_frame_is_its_own_pcm(frame_ms: int) -> None:
    frame = ramp(16 * frame_ms)
    assert PcmDecoder().decode(frame) == frame


@pytest.mark.parametrize("size", [0, 1, 638, 641, 3841, 3842, 64_000])
def test_what_is_no_frame_gives_nothing(size: int) -> None:
    assert PcmDecoder().decode(bytes(size)) == b""


def test_a_closed_decoder_gives_nothing() -> None:
    decoder = PcmDecoder()
    decoder.close()
    assert decoder.decode(ramp(960)) == b""


def test_a_reply_is_cut_into_frames_and_padded() -> None:
    encoder = PcmEncoder(AudioFormat(24_000, 60))
    pcm = ramp(3_000)
    packets = [*encoder.encode(pcm[:1_001], 24_000), *encoder.encode(pcm[1_001:], 24_000)]
    packets += encoder.flush()
    assert encoder.packet_ms == 60
    assert [len(packet) for packet in packets] == [2_880] * 3
    assert b"".join(packets) == pcm.ljust(3 * 2_880, b"\0")


def test_another_rate_is_resampled() -> None:
    encoder = PcmEncoder(AudioFormat(24_000, 20))
    packets = encoder.encode(ramp(22_050), 22_050) + encoder.flush()
    assert 49 <= len(packets) <= 52
    assert {len(packet) for packet in packets} == {960}
