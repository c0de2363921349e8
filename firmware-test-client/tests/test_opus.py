"""Durations read from packets, DTX, and what the decoder refuses."""

from __future__ import annotations

import pytest
from scripted_server import tone_packets

from firmware_test_client.opus import Decoder, Encoder, OpusError, packet_duration_ms
from firmware_test_client.pcm import room_noise


@pytest.mark.parametrize("frame_ms", [20, 40, 60])
@pytest.mark.parametrize("rate", [8000, 16000, 24000, 48000])
def test_duration_from_the_packet_agrees_with_the_encoder(rate: int, frame_ms: int) -> None:
    for packet in tone_packets(3, rate=rate, frame_ms=frame_ms):
        assert packet_duration_ms(packet) == frame_ms
        assert len(Decoder(rate, frame_ms).decode(packet)) == 2 * rate * frame_ms // 1000


@pytest.mark.parametrize("packet", [b"", b"\x03", b"\x03\x00", b"\xff\xff"])
def test_impossible_packets_have_no_duration(packet: bytes) -> None:
    with pytest.raises(OpusError):
        packet_duration_ms(packet)


@pytest.mark.parametrize("application", ["audio", "voip"])
def test_dtx_is_on_and_silence_costs_one_byte(application: str) -> None:
    encoder = Encoder(16000, 60, application, 0)
    assert encoder.dtx
    noise = room_noise(3.0, 16000, -75.0).data
    sizes = [len(encoder.encode(noise[at : at + 1920])) for at in range(0, len(noise), 1920)]
    assert sizes[4:].count(1) > 0.7 * len(sizes[4:])


def test_decoder_refuses_garbage_empty_and_too_long() -> None:
    decoder = Decoder(24000, 20)
    for packet in (b"", b"\xff\xff\xff", tone_packets(1, frame_ms=60)[0]):
        with pytest.raises(OpusError):
            decoder.decode(packet)
    assert decoder.decode(tone_packets(1, frame_ms=20)[0])
