"""What has to hold for every reply, whatever was said."""

from __future__ import annotations

import asyncio
import os
from collections import deque

from firmware_test_client import Frame, Reply, SimulatedDevice
from tests.support.held_up import HeldUp

STOP_LAG_MS = 150.0
"""Bound for a busy machine; the design's own is 60 ms. Never before the end has no tolerance."""

NOTABLE_STALL = 0.02
"""Seconds: the server allows its packets more than this for the way to the loudspeaker."""


class StallMeter:
    """When the event loop, which server and devices share here, stood still and for how long.

    A real device is not held up by its server's process; one in the same process is, and plays a
    packet later by as much as it could not read it.
    """

    STEP = 0.005

    def __init__(self) -> None:
        self._stalls: deque[tuple[float, float]] = deque(maxlen=10_000)

    async def run(self) -> None:
        """Watch until cancelled."""
        loop = asyncio.get_running_loop()
        before = loop.time()
        while True:
            await asyncio.sleep(self.STEP)
            now = loop.time()
            if now - before > NOTABLE_STALL:
                self._stalls.append((now, now - before))
            before = now

    def longest_ms(self, since: float, until: float) -> float:
        """Return the longest stall that touched the time from ``since`` to ``until``."""
        touching = (
            seconds for at, seconds in self._stalls if at >= since and at - seconds <= until
        )
        return 1000 * max(touching, default=0.0)


STALLS = StallMeter()

HELD_UP = HeldUp(os.getpid(), all_threads=True)
"""Server and devices alike: a machine with other work keeps their threads from running."""

MOST_HELD_UP_S = 0.05
"""Of 100 ms, all threads together: beyond that a packet may be late that nobody made late."""


def held_up(since: float, until: float) -> bool:
    """Did the machine keep us waiting so long that lateness says nothing?"""
    return HELD_UP.at_worst(since, until) > MOST_HELD_UP_S


def assert_played_well(reply: Reply) -> None:
    """Every packet came in its time, was played, and ``tts stop`` followed the last of them."""
    assert reply.ended
    assert not reply.cut
    assert reply.tts_stop is not None
    in_time = {"late": reply.late, "underruns": reply.underruns}
    assert not any(in_time.values()) or held_up(reply.tts_start - 0.1, reply.tts_stop), in_time
    flow = {
        "overflows": reply.overflows,
        "decode_errors": reply.decode_errors,
        "clipped_ms": reply.clipped_ms,
    }
    assert not any(flow.values()), flow
    assert reply.played == reply.frames > 0
    assert reply.stop_lag_ms is not None
    assert reply.first_played is not None
    began = STALLS.longest_ms(reply.tts_start - 0.1, reply.first_played)
    ended = STALLS.longest_ms(reply.tts_stop - 0.1, reply.tts_stop)
    lag = f"tts stop {reply.stop_lag_ms:.1f} ms after the end; stalls {began:.0f}, {ended:.0f} ms"
    assert -began <= reply.stop_lag_ms <= STOP_LAG_MS + ended, lag


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
