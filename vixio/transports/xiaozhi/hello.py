"""The hello of both sides: version, audio format, features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vixio.core.audio import AudioFormat
from vixio.core.tools.types import JsonObject
from vixio.transports.xiaozhi.framing import VERSIONS, Version

SAMPLE_RATES = (8_000, 12_000, 16_000, 24_000, 48_000)
"""Rates (Hz) of Opus streams (RFC 6716 §2.1.3)."""

FRAME_DURATIONS_MS = (20, 40, 60)

# What the firmware sends (websocket_protocol.cc, GetHelloMessage); these are the defaults for
# a client that leaves one out.
DEFAULT_SAMPLE_RATE = 16_000
DEFAULT_FRAME_MS = 60


@dataclass(frozen=True, slots=True)
class Hello:
    """A device's hello. ``audio``: the format it sends; ``features``: those that are on."""

    version: Version
    audio: AudioFormat
    features: frozenset[str]


@dataclass(frozen=True, slots=True)
class HelloRefused:
    """Why a device cannot be served: ``reason`` for counters, ``message`` for the close frame."""

    reason: str
    message: str


def negotiated_version(header: str, stated: object) -> Version:
    """Return the binary protocol's version: the header's if valid, else the hello's, else 1.

    The firmware sends the same number in both (websocket_protocol.cc, OpenAudioChannel).
    """
    for version in VERSIONS:
        if header.strip() == str(version):
            return version
    for version in VERSIONS:
        if type(stated) is int and stated == version:
            return version
    return 1


def parse_hello(message: JsonObject, version_header: str = "") -> Hello | HelloRefused:
    """Read a device's hello; never raises."""
    audio = _parse_audio(message.get("audio_params"))
    if isinstance(audio, HelloRefused):
        return audio
    features = message.get("features")
    return Hello(
        version=negotiated_version(version_header, message.get("version")),
        audio=audio,
        features=frozenset(
            name for name, value in features.items() if value is True and isinstance(name, str)
        )
        if isinstance(features, dict)
        else frozenset(),
    )


def _parse_audio(params: Any) -> AudioFormat | HelloRefused:  # noqa: ANN401  any JSON value
    if not isinstance(params, dict):
        return HelloRefused("audio_params", "hello needs audio_params with format opus")
    if params.get("format") != "opus":
        return HelloRefused("audio_format", "hello needs audio_params.format opus")
    sample_rate = params.get("sample_rate", DEFAULT_SAMPLE_RATE)
    if type(sample_rate) is not int or sample_rate not in SAMPLE_RATES:
        known = "/".join(str(rate) for rate in SAMPLE_RATES)
        return HelloRefused("sample_rate", f"hello needs audio_params.sample_rate {known}")
    frame_ms = params.get("frame_duration", DEFAULT_FRAME_MS)
    if type(frame_ms) is not int or frame_ms not in FRAME_DURATIONS_MS:
        known = "/".join(str(duration) for duration in FRAME_DURATIONS_MS)
        return HelloRefused("frame_duration", f"hello needs audio_params.frame_duration {known}")
    return AudioFormat(sample_rate, frame_ms)


def server_hello(session_id: str, output: AudioFormat, transport: str) -> JsonObject:
    """Return the server's hello. ``output``: the format the server sends, for the device's decoder.

    ``transport``, the carrier's name, is not optional: a firmware that misses it reads through a
    null pointer (websocket_protocol.cc, ParseServerHello). Nothing in it is ever null.
    """
    return {
        "type": "hello",
        "transport": transport,
        "session_id": session_id,
        "audio_params": {
            "format": "opus",
            "sample_rate": output.sample_rate,
            "channels": 1,
            "frame_duration": output.frame_ms,
        },
    }
