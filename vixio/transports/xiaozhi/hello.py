"""The hello of both sides: version, audio format, features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vixio.core.audio import LISTEN_RATE, AudioFormat
from vixio.core.tools.types import JsonObject
from vixio.transports.xiaozhi.framing import CODECS, VERSIONS, Codec, Version
from vixio.transports.xiaozhi.glyphs import TextFont, read_text_font

SAMPLE_RATES = (8_000, 12_000, 16_000, 24_000, 48_000)
"""Rates (Hz) of Opus streams (RFC 6716 §2.1.3)."""

FRAME_DURATIONS_MS = (20, 40, 60)

PCM_RATES = (LISTEN_RATE,)
"""Rates (Hz) of PCM from a client, which no decoder resamples."""

PCM_FRAME_DURATIONS_MS = (*FRAME_DURATIONS_MS, 80, 100, 120)

# What the firmware sends (websocket_protocol.cc, GetHelloMessage); these are the defaults for
# a client that leaves one out.
DEFAULT_SAMPLE_RATE = 16_000
DEFAULT_FRAME_MS = 60


@dataclass(frozen=True, slots=True)
class Hello:
    """A device's hello. ``audio``: the format it sends; ``features``: those that are on.

    ``codec``: of both directions. ``text_font``: of the screen, if it takes glyphs.
    """

    version: Version
    audio: AudioFormat
    features: frozenset[str]
    codec: Codec = "opus"
    text_font: TextFont | None = None


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
    """Read a device's hello; never raises.

    What it leaves out of ``audio_params``, or states as null, is Opus at 16 kHz in mono, 60 ms a
    packet: clients other than the firmware send a part of them, or none.
    """
    params = message.get("audio_params")
    if params is None:
        params = {}
    if not isinstance(params, dict):
        return HelloRefused("audio_params", "hello needs audio_params with format opus")
    stated = params.get("format")
    form = CODECS[0] if stated is None else stated
    codec = next((known for known in CODECS if _lower(form) == known), None)
    if codec is None:
        return HelloRefused("audio_format", "hello needs audio_params.format opus, or pcm")
    audio = _parse_audio(params, codec)
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
        codec=codec,
        text_font=read_text_font(message),
    )


def _parse_audio(params: JsonObject, codec: Codec) -> AudioFormat | HelloRefused:
    rates = PCM_RATES if codec == "pcm" else SAMPLE_RATES
    durations = PCM_FRAME_DURATIONS_MS if codec == "pcm" else FRAME_DURATIONS_MS
    sample_rate = _number(params.get("sample_rate"), DEFAULT_SAMPLE_RATE)
    if sample_rate not in rates:
        return _wanted("sample_rate", codec, rates)
    frame_ms = _number(params.get("frame_duration"), DEFAULT_FRAME_MS)
    if frame_ms not in durations:
        return _wanted("frame_duration", codec, durations)
    return AudioFormat(sample_rate, frame_ms)


def _lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


def _number(value: object, default: int) -> int:
    """Return a whole number as any JSON library writes it: 16000, 16000.0 or "16000"; -1: none."""
    if value is None:
        return default
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 7:
        return int(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and value % 1 == 0:
        return int(value)
    return -1


def _wanted(field: str, codec: Codec, values: Sequence[int]) -> HelloRefused:
    known = "/".join(str(value) for value in values)
    with_codec = " with format pcm" if codec == "pcm" else ""
    return HelloRefused(field, f"hello needs audio_params.{field} {known}{with_codec}")


def server_hello(
    session_id: str, output: AudioFormat, transport: str, codec: Codec = "opus"
) -> JsonObject:
    """Return the server's hello. ``output``: the format the server sends, for the device's decoder.

    ``transport``, the carrier's name, is not optional: a firmware that misses it reads through a
    null pointer (websocket_protocol.cc, ParseServerHello). Nothing in it is ever null.
    """
    return {
        "type": "hello",
        "transport": transport,
        "session_id": session_id,
        "audio_params": {
            "format": codec,
            "sample_rate": output.sample_rate,
            "channels": 1,
            "frame_duration": output.frame_ms,
        },
    }
