"""What has to hold for every reply, whatever was said.

Nothing here depends on how fast the machine is: when packets are due, and when ``tts stop`` is, is
held by the tests on the virtual clock (``tests/session/test_pacing.py``). So is the time between
``tts start`` and the first packet (``test_start_lead.py``), which reach a device late and together
if the machine holds up the process of both.
"""

from __future__ import annotations

from firmware_test_client import Frame, Reply, SimulatedDevice


def assert_played_well(reply: Reply) -> None:
    """Every packet was played, none was lost on the way, and ``tts stop`` followed."""
    assert reply.ended
    assert not reply.cut
    assert reply.tts_stop is not None
    flow = {
        "overflows": reply.overflows,
        "decode_errors": reply.decode_errors,
        "clipped_ms": reply.clipped_ms - reply.too_early_ms,
    }
    assert not any(flow.values()), flow
    assert reply.played == reply.frames
    # Of a word or two, all packets may come together with `tts start`: see above.
    assert reply.frames + reply.too_early > 0


def assert_nothing_wrong(device: SimulatedDevice) -> None:
    """The server sent nothing that must never be sent to a device."""
    assert device.violations == [], device.violations
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
