from __future__ import annotations

import json
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.core.chunk import Abort, ListenMode, ListenStart, ListenStop, TextInput
from vixio.transports.xiaozhi.framing import VERSIONS, Version, build_frame
from vixio.transports.xiaozhi.protocol import (
    MAX_MESSAGE_BYTES,
    AudioPacket,
    Event,
    Ignored,
    McpFrame,
    Reply,
    XiaozhiProtocol,
)
from vixio.transports.xiaozhi.wake_words import WakeWords


def parse(message: object) -> Event:
    return XiaozhiProtocol().parse(json.dumps(message))


@pytest.mark.parametrize(
    ("message", "event"),
    [
        ({"type": "listen", "state": "start", "mode": "auto"}, ListenStart(ListenMode.AUTO)),
        ({"type": "listen", "state": "start", "mode": "manual"}, ListenStart(ListenMode.MANUAL)),
        (
            {"type": "listen", "state": "start", "mode": "realtime"},
            ListenStart(ListenMode.REALTIME),
        ),
        ({"type": "listen", "state": "start"}, ListenStart(ListenMode.AUTO)),
        ({"type": "listen", "state": "stop"}, ListenStop()),
        (
            {"type": "listen", "state": "detect", "text": "你好，小智！"},
            TextInput("你好，小智！", True),
        ),
        ({"type": "listen", "state": "detect", "text": " lamp on "}, TextInput("lamp on", False)),
        ({"type": "abort", "reason": "wake_word_detected"}, Abort("wake_word_detected")),
        ({"type": "abort"}, Abort("")),
        ({"type": "abort", "reason": 3}, Abort("")),
        ({"type": "abort", "session_id": "another", "reason": None}, Abort("")),
        ({"type": "mcp", "payload": {"id": 1, "result": {}}}, McpFrame({"id": 1, "result": {}})),
        ({"type": "ping"}, Reply({"type": "pong"})),
    ],
)
def test_what_devices_say(message: object, event: Event) -> None:
    assert parse(message) == event


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ([], "not_object"),
        ("text", "not_object"),
        (None, "not_object"),
        ({}, "no_type"),
        ({"type": 3}, "no_type"),
        ({"type": ["listen"]}, "no_type"),
        ({"type": "nonsense"}, "unknown_type"),
        ({"type": "iot", "descriptors": []}, "iot"),
        ({"type": "goodbye", "session_id": ""}, "goodbye"),
        ({"type": "hello"}, "repeated_hello"),
        ({"type": "listen"}, "bad_field"),
        ({"type": "listen", "state": 1}, "bad_field"),
        ({"type": "listen", "state": ["start"]}, "bad_field"),
        ({"type": "listen", "state": "start", "mode": "loud"}, "bad_field"),
        ({"type": "listen", "state": "start", "mode": {}}, "bad_field"),
        ({"type": "listen", "state": "detect"}, "bad_field"),
        ({"type": "listen", "state": "detect", "text": "  "}, "bad_field"),
        ({"type": "listen", "state": "detect", "text": 5}, "bad_field"),
        ({"type": "mcp"}, "bad_field"),
        ({"type": "mcp", "payload": "{}"}, "bad_field"),
        ({"type": "mcp", "payload": [1]}, "bad_field"),
    ],
)
def test_wrong_input_is_named_and_goes_no_further(message: object, reason: str) -> None:
    assert parse(message) == Ignored(reason)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not_json"),
        ("hello", "not_json"),
        ('{"type":"listen"', "not_json"),
        ("[" * 60_000, "not_json"),
        ('{"a":' * 10_000, "not_json"),
        ("9" * 5_000, "not_json"),  # more digits than Python reads
        ('{"type":"' + "x" * MAX_MESSAGE_BYTES + '"}', "too_large"),
    ],
)
def test_text_that_is_no_json_object(text: str, reason: str) -> None:
    assert XiaozhiProtocol().parse(text) == Ignored(reason)


@pytest.mark.parametrize("version", VERSIONS)
def test_audio_of_every_version(version: Version) -> None:
    protocol = XiaozhiProtocol("", version)
    heard = AudioPacket(b"opus", 60 if version == 2 else 0)
    assert protocol.parse(protocol.encode_audio(b"opus", 60)) == heard
    assert protocol.encode_audio(b"opus", 60) == build_frame(version, b"opus", 60)
    assert protocol.parse(build_frame(version, b"")) == Ignored("empty_frame")
    assert protocol.parse(bytes(MAX_MESSAGE_BYTES + 1)) == Ignored("too_large")


def test_a_message_may_be_as_long_as_the_firmware_can_send() -> None:
    protocol = XiaozhiProtocol()
    assert protocol.parse(bytes(MAX_MESSAGE_BYTES)) == AudioPacket(bytes(MAX_MESSAGE_BYTES))
    text = '{"type":"ping"}'
    assert isinstance(protocol.parse(text.ljust(MAX_MESSAGE_BYTES)), Reply)
    assert protocol.parse(text.ljust(MAX_MESSAGE_BYTES + 1)) == Ignored("too_large")


def test_only_what_is_not_json_is_read_as_broken() -> None:
    broken = '{"type":"mcp","payload":{"jsonrpc":"2.0","id":7,"result":"a "b""}}'
    assert isinstance(XiaozhiProtocol().parse(broken), McpFrame)
    assert XiaozhiProtocol().parse(broken.ljust(MAX_MESSAGE_BYTES + 1)) == Ignored("too_large")
    whole = '[{"type":"mcp","payload":{"jsonrpc":"2.0","id":7,"error":{"message":"x"}}}]'
    assert XiaozhiProtocol().parse(whole) == Ignored("not_object")


def test_the_settings_know_their_wake_words() -> None:
    protocol = XiaozhiProtocol(wake_words=WakeWords(["Hey Zebra"]))
    detected = '{"type":"listen","state":"detect","text":"hey zebra"}'
    assert protocol.parse(detected) == TextInput("hey zebra", True)
    assert XiaozhiProtocol().parse(detected) == TextInput("hey zebra", False)
    assert XiaozhiProtocol(version=1).version == XiaozhiProtocol().version


def test_frames_of_other_types() -> None:
    protocol = XiaozhiProtocol("", 2)
    text = b'{"type":"listen","state":"stop"}'
    header = bytes.fromhex("0002 0001 00000000 00000000") + len(text).to_bytes(4, "big")
    assert protocol.parse(header + text) == ListenStop()
    broken = bytes.fromhex("0002 0001 00000000 00000000 00000002") + b"\xff\xfe"
    assert protocol.parse(broken) == Ignored("not_json")
    other = bytes.fromhex("0002 0007 00000000 00000000 00000001") + b"x"
    assert protocol.parse(other) == Ignored("unknown_frame_type")
    assert protocol.parse(b"short") == Ignored("bad_frame")


def test_words_that_utf8_cannot_write_are_replaced() -> None:
    protocol = XiaozhiProtocol()
    event = protocol.parse('{"type":"listen","state":"detect","text":"a\\ud800b"}')
    assert event == TextInput("a\ufffdb")
    assert protocol.encode_message({"text": "a\ud800b"}) == '{"session_id":"","text":"a�b"}'


def test_what_json_cannot_write_is_an_error_of_the_caller() -> None:
    with pytest.raises(ValueError, match="JSON"):
        XiaozhiProtocol().encode_message({"x": float("nan")})


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
VALUES = st.recursive(
    LEAVES | st.sampled_from(["listen", "start", "stop", "detect", "auto", "mcp", "abort"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=10,
)
OBJECTS = st.dictionaries(
    st.sampled_from(["type", "state", "mode", "text", "payload", "reason", "session_id"]), VALUES
)


@pytest.mark.slow
@given(OBJECTS)
def test_no_object_breaks_the_parser(message: object) -> None:
    assert isinstance(parse(message), get_args(Event))


@given(st.text())
def test_no_text_breaks_the_parser(text: str) -> None:
    assert isinstance(XiaozhiProtocol().parse(text), get_args(Event))


@given(st.binary(max_size=200), st.sampled_from(VERSIONS))
def test_no_bytes_break_the_parser(data: bytes, version: Version) -> None:
    assert isinstance(XiaozhiProtocol("", version).parse(data), get_args(Event))


@pytest.mark.parametrize("half", ["\\ud800", "\\uDFFF", "\\udc00\\ud83d"])
def test_half_a_surrogate_pair_gets_in_nowhere(half: str) -> None:
    text = f'{{"type":"mcp","payload":{{"{half}":["{half}", {{"x":"a{half}b"}}]}}}}'
    event = XiaozhiProtocol().parse(text)
    assert isinstance(event, McpFrame)
    json.dumps(event.payload, ensure_ascii=False).encode()


def test_a_whole_surrogate_pair_stays() -> None:
    event = XiaozhiProtocol().parse('{"type":"mcp","payload":{"x":"\\ud83d\\ude00"}}')
    assert event == McpFrame({"x": "😀"})
