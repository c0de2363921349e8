"""Opus as the device uses it: an encoder with DTX, a decoder with a fixed frame size.

The encoder's settings are those of AS_OPUS_ENC_CONFIG in main/audio/audio_service.h: application
AUDIO, complexity 0, variable bit rate, DTX on, no FEC.
"""

from __future__ import annotations

from typing import Final

import opuslib
from opuslib.api import ctl
from opuslib.api import encoder as encoder_api

# RFC 6716 table 2: frame duration in units of 0.5 ms for the 32 configurations.
_CONFIG_HALF_MS: Final = (20, 40, 80, 120) * 3 + (20, 40) * 2 + (5, 10, 20, 40) * 4

RATES: Final = (8_000, 12_000, 16_000, 24_000, 48_000)  # Hz
FRAME_DURATIONS_MS: Final = (5, 10, 20, 40, 60, 80, 100, 120)  # AS_OPUS_GET_FRAME_DRU_ENUM


class OpusError(ValueError):
    """A packet that the decoder refuses."""


def packet_duration_ms(packet: bytes) -> float:
    """Duration of a packet in milliseconds, from its first two bytes (RFC 6716 section 3.1).

    Raises:
        OpusError: the packet is empty, cut off, or longer than 120 ms.
    """
    if not packet:
        raise OpusError("empty packet")
    code = packet[0] & 0x03
    if code == 3:
        if len(packet) < 2:
            raise OpusError("packet of code 3 has no frame count")
        count = packet[1] & 0x3F
    else:
        count = 1 if code == 0 else 2
    duration = count * _CONFIG_HALF_MS[packet[0] >> 3] / 2
    if not 0 < duration <= 120:
        raise OpusError(f"packet of {duration} ms")
    return duration


class Encoder:
    """One uplink stream."""

    def __init__(self, rate: int, frame_ms: int, application: str, complexity: int) -> None:
        self._frame_samples = rate * frame_ms // 1000
        self._encoder = opuslib.Encoder(rate, 1, application)
        self._encoder.complexity = complexity
        # The setter of opuslib's `dtx` property is wrong, so the control is set directly.
        encoder_api.encoder_ctl(self._encoder.encoder_state, ctl.set_dtx, 1)

    @property
    def dtx(self) -> bool:
        """Whether discontinuous transmission is on, as libopus reports it."""
        return bool(encoder_api.encoder_ctl(self._encoder.encoder_state, ctl.get_dtx))

    def encode(self, frame: bytes) -> bytes:
        """Encode exactly one frame of 16-bit PCM; returns 1 byte where DTX sends nothing."""
        packet: bytes = self._encoder.encode(frame, self._frame_samples)
        return packet


class Decoder:
    """One downlink stream. A packet longer than `frame_ms` is refused, as by the firmware: its
    output buffer has the size that the server's hello announced (SetDecodeSampleRate).
    """

    def __init__(self, rate: int, frame_ms: int) -> None:
        """Raises OpusError for a rate or duration that Opus does not have."""
        if rate not in RATES or frame_ms not in FRAME_DURATIONS_MS:
            raise OpusError(f"no Opus decoder for {rate} Hz and {frame_ms} ms")
        self._max_samples = rate // 1000 * frame_ms
        self._decoder = opuslib.Decoder(rate, 1)

    def reset(self) -> None:
        """Forget the stream so far (esp_opus_dec_reset)."""
        self._decoder.reset_state()

    def decode(self, packet: bytes) -> bytes:
        """PCM of one packet.

        Raises:
            OpusError: libopus refuses the packet, or it is empty or too long.
        """
        if not packet:
            raise OpusError("empty packet")
        try:
            pcm: bytes = self._decoder.decode(packet, self._max_samples)
        except opuslib.OpusError as error:
            raise OpusError(str(error)) from error
        return pcm
