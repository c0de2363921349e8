"""What has to hold for every reply, whatever was said."""

from __future__ import annotations

from firmware_test_client import Frame, Reply, SimulatedDevice

STOP_LAG_MS = 150.0
"""Bound for a busy machine; the design's own is 60 ms. Never before the end has no tolerance."""


def assert_played_well(reply: Reply) -> None:
    """Every packet came in its time, was played, and ``tts stop`` followed the last of them."""
    assert reply.ended
    assert not reply.cut
    flow = {
        "late": reply.late,
        "underruns": reply.underruns,
        "overflows": reply.overflows,
        "decode_errors": reply.decode_errors,
        "clipped_ms": reply.clipped_ms,
    }
    assert not any(flow.values()), flow
    assert reply.played == reply.frames > 0
    assert reply.stop_lag_ms is not None
    assert 0 <= reply.stop_lag_ms <= STOP_LAG_MS, f"tts stop {reply.stop_lag_ms:.1f} ms after"


def assert_nothing_wrong(device: SimulatedDevice) -> None:
    """The server sent nothing that must never be sent to a device."""
    assert device.violations == []
    assert device.counters.framing_errors == 0
    assert device.counters.decode_errors == 0


def what(frame: Frame) -> str:
    """Return ``tts stop``, ``audio``, ``stt`` …: a frame in a word or two."""
    body = frame.body or {}
    return f"{frame.type} {body['state']}" if "state" in body else frame.type


def received(device: SimulatedDevice, since: int = 0) -> list[Frame]:
    """Return what the device was sent from index ``since`` of its frames on, MCP left out."""
    return [
        frame for frame in device.frames[since:] if frame.direction == "in" and frame.type != "mcp"
    ]
