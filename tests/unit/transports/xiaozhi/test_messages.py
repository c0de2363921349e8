"""Each server message goes through a reading of the firmware's own conditions."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest

from vixio.transports.xiaozhi import messages
from vixio.transports.xiaozhi.protocol import XiaozhiProtocol

BUILDERS = {
    name: builder
    for name, builder in inspect.getmembers(messages, inspect.isfunction)
    if builder.__module__ == messages.__name__
}

SAMPLES: dict[str, Any] = {
    "text": 'Quote " and 你好 and \n',
    "emotion": "happy",
    "emoji": "😀",
    "status": "Warning",
    "message": "The network is slow",
    "payload": {"a": [1, None]},
}


def honoured(message: dict[str, Any]) -> str:
    """Return what the firmware does (application.cc, OnIncomingJson), "" for nothing."""
    kind = message["type"]
    strings = {name for name, value in message.items() if isinstance(value, str)}
    needed: dict[str, set[str]] = {
        "stt": {"text"},
        "llm": {"emotion"},
        "alert": {"status", "message", "emotion"},
    }
    if kind in needed:
        return kind if needed[kind] <= strings else ""
    if kind == "tts":
        state = message["state"]
        if state == "sentence_start":
            return "sentence" if "text" in strings else ""
        return f"tts {state}" if state in {"start", "stop"} else ""
    if kind == "system":
        return "reboot" if message["command"] == "reboot" else ""
    if kind == "goodbye":  # over MQTT alone (mqtt_protocol.cc, StartMqttClient)
        return "goodbye"
    if kind in {"custom", "mcp"}:
        return kind if isinstance(message["payload"], dict) else ""
    return f"unknown type {kind}"


EFFECTS = {
    "stt": "stt",
    "llm": "llm",
    "tts_start": "tts start",
    "tts_sentence_start": "sentence",
    "tts_stop": "tts stop",
    "alert": "alert",
    "reboot": "reboot",
    "custom": "custom",
    "pong": "unknown type pong",
    "keepalive": "",
    "goodbye": "goodbye",
    "speak_request": "unknown type speak_request",  # of a firmware without it
}


@pytest.mark.parametrize("name", BUILDERS)
def test_every_message_has_its_effect_after_the_wire(name: str) -> None:
    builder = BUILDERS[name]
    arguments = {
        parameter: SAMPLES[parameter] for parameter in inspect.signature(builder).parameters
    }
    built = builder(**arguments)
    arrived = json.loads(XiaozhiProtocol("session").encode_message(built))
    assert arrived == {"session_id": "session", **built}
    assert honoured(arrived) == EFFECTS[name]
    for argument in arguments.values():
        assert argument in arrived.values()


def test_the_mcp_envelope_is_honoured() -> None:
    protocol = XiaozhiProtocol("session")
    message = protocol.create_mcp_message({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    arrived = json.loads(protocol.encode_message(message))
    assert honoured(arrived) == "mcp"
    assert protocol.get_mcp_payload(arrived) == message["payload"]
