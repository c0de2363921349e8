from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.transports.xiaozhi.support import HELLO
from vixio.core.audio import AudioFormat
from vixio.transports.xiaozhi.hello import (
    FRAME_DURATIONS_MS,
    PCM_FRAME_DURATIONS_MS,
    SAMPLE_RATES,
    Hello,
    HelloRefused,
    negotiated_version,
    parse_hello,
    server_hello,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def hello_with(**audio: object) -> dict[str, Any]:
    return {**HELLO, "audio_params": {**HELLO["audio_params"], **audio}}


@pytest.mark.parametrize("rate", SAMPLE_RATES)
@pytest.mark.parametrize("frame_ms", FRAME_DURATIONS_MS)
def test_every_rate_and_frame_is_taken(rate: int, frame_ms: int) -> None:
    hello = parse_hello(hello_with(sample_rate=rate, frame_duration=frame_ms))
    assert isinstance(hello, Hello)
    assert hello.audio == AudioFormat(rate, frame_ms)


def test_the_features_are_those_that_are_on() -> None:
    features = {"mcp": True, "aec": False, "glyph_push": 1}
    hello = parse_hello({**HELLO, "features": features})
    assert isinstance(hello, Hello)
    assert hello.features == {"mcp"}


@pytest.mark.parametrize("features", [None, [], "mcp", 3])
def test_features_of_another_type_are_none(features: object) -> None:
    hello = parse_hello({**HELLO, "features": features})
    assert isinstance(hello, Hello)
    assert hello.features == frozenset()


@pytest.mark.parametrize("frame_ms", PCM_FRAME_DURATIONS_MS)
def test_pcm_is_taken_at_16_khz(frame_ms: int) -> None:
    hello = parse_hello(hello_with(format="pcm", sample_rate=16_000, frame_duration=frame_ms))
    assert isinstance(hello, Hello)
    assert (hello.codec, hello.audio) == ("pcm", AudioFormat(16_000, frame_ms))


@pytest.mark.parametrize(
    "audio",
    [
        {},
        {"audio_params": None},
        {"audio_params": {}},
        {"audio_params": {"format": "opus"}},
        {"audio_params": {"format": None, "sample_rate": None, "frame_duration": None}},
        {"audio_params": {"format": "OPUS"}},
        {"audio_params": {"sample_rate": 16000}},
        {"audio_params": {"sample_rate": 16000.0, "frame_duration": 60.0, "channels": 1.0}},
        {"audio_params": {"sample_rate": "16000", "frame_duration": "60"}},
        {"audio_params": {"channels": 1}},
        {"transport": "websocket", "version": 1},
    ],
)
def test_what_is_left_out_is_as_the_firmware_has_it(audio: dict[str, Any]) -> None:
    hello = parse_hello({"type": "hello", **audio})
    assert hello == Hello(1, AudioFormat(16_000, 60), frozenset())


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"type": "hello", "audio_params": []}, "audio_params"),
        ({"type": "hello", "audio_params": "opus"}, "audio_params"),
        (hello_with(format=""), "audio_format"),
        (hello_with(sample_rate=16000.5), "sample_rate"),
        (hello_with(sample_rate=float("nan")), "sample_rate"),
        (hello_with(sample_rate=float("inf")), "sample_rate"),
        (hello_with(sample_rate=True), "sample_rate"),
        (hello_with(sample_rate="9" * 5000), "sample_rate"),
        (hello_with(sample_rate=0), "sample_rate"),
        (hello_with(frame_duration=[]), "frame_duration"),
        (hello_with(format="mp3"), "audio_format"),
        (hello_with(format=["opus"]), "audio_format"),
        (hello_with(sample_rate=44100), "sample_rate"),
        (hello_with(format="pcm", sample_rate=48000), "sample_rate"),
        (hello_with(format="pcm", frame_duration=10), "frame_duration"),
        (hello_with(frame_duration=120), "frame_duration"),
        (hello_with(sample_rate=[16000]), "sample_rate"),
        (hello_with(frame_duration=30), "frame_duration"),
    ],
)
def test_what_cannot_be_decoded_is_refused(message: dict[str, Any], reason: str) -> None:
    refused = parse_hello(message)
    assert isinstance(refused, HelloRefused)
    assert refused.reason == reason
    assert len(refused.message.encode()) <= 123  # what a close frame holds


@pytest.mark.parametrize(
    ("header", "stated", "version"),
    [
        ("2", 3, 2),
        ("3", 1, 3),
        ("", 3, 3),
        ("9", 2, 2),
        ("x", 2, 2),
        (" 2 ", None, 2),
        ("", True, 1),
        ("", "2", 1),
        ("", 4, 1),
    ],
)
def test_the_header_decides_the_version_if_it_is_valid(
    header: str, stated: object, version: int
) -> None:
    assert negotiated_version(header, stated) == version


@given(JSON, JSON, JSON, st.text(max_size=3))
def test_no_hello_breaks_the_parser(
    params: object, features: object, version: object, header: str
) -> None:
    message = {"audio_params": params, "features": features, "version": version}
    assert isinstance(parse_hello(message, header), Hello | HelloRefused)


def test_the_answer_has_what_the_firmware_reads() -> None:
    assert server_hello("abc", AudioFormat(24_000, 60), "websocket") == {
        "type": "hello",
        "transport": "websocket",
        "session_id": "abc",
        "audio_params": {
            "format": "opus",
            "sample_rate": 24_000,
            "channels": 1,
            "frame_duration": 60,
        },
    }
