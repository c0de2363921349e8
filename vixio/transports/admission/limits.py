"""Limits of an address, a device and a connection, as token buckets.

A bucket is measured in seconds of quota: it holds ``burst`` seconds, fills by one second a second,
and each act costs its share of a second. So one bucket can hold several limits: an act costs what
the strictest of them asks. A limit of 0 is off.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, fields

from vixio.core.errors import ConfigError

MAX_KEYS = 8_192
"""Addresses or devices that are remembered, about 2 MB. Beyond that the one seen longest ago is
forgotten, which resets its quota."""

ROUNDING_S = 1e-6
"""Tolerance for the sum of a few hundred shares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a server; each is explained, with its reason, in docs/security.md. 0: off."""

    connections_per_address: int = 256
    """Open at a time. IPv6 addresses count by their /64."""
    connects_per_address: int = 240
    """A minute, all at once if need be; the same for ``connects_per_device`` and ``ota``."""
    connects_per_device: int = 30
    ota_per_address: int = 240
    activations_per_address: int = 2_400
    """A device that waits for its claim asks twenty times a minute; one NAT may hide a hundred."""
    photos_per_device: int = 20
    handshakes: int = 1_024
    """Connections of all addresses that have not said hello yet."""

    audio_burst: float = 20.0
    """Seconds of the three limits below that may arrive at once, as they do after a stall."""
    audio_rate: float = 1.25
    """Seconds of audio a second."""
    frames_per_second: float = 75.0
    audio_bytes_per_second: float = 32_000.0

    message_burst: float = 4.0
    """Seconds of the two limits below that may arrive at once."""
    messages_per_second: float = 50.0
    """Text, pings and pongs, pieces of fragmented messages."""
    message_bytes_per_second: float = 400_000.0
    bad_messages: int = 300
    """A minute: malformed messages, and packets that libopus rejects."""

    pending_tool_calls: int = 32
    """Of one device, at a time."""
    loop_lag_ms: float = 3.0
    """New devices are refused while the event loop is later than this (median of ten seconds). A
    loop with time to spare runs half of its timers at once."""
    conversing: float = 1.0
    """Share of the connected devices that is to be able to converse at the same time."""

    def __post_init__(self) -> None:
        for field in fields(self):
            if not getattr(self, field.name) >= 0:
                raise ConfigError(f"limits: {field.name} must be 0 (off) or more")


def share(limit: float) -> float:
    """Return the seconds of quota that one of ``limit`` a second costs; 0 if it is off."""
    return 1.0 / limit if limit > 0 else 0.0


class Bucket:
    """One bucket. ``at`` is always a reading of a monotonic clock, in seconds."""

    __slots__ = ("_burst", "_empty_until")

    def __init__(self, burst: float) -> None:
        self._burst = burst + ROUNDING_S
        # Generic cell rate algorithm: the time at which the bucket is full again is its state.
        self._empty_until = float("-inf")

    def take(self, cost: float, at: float) -> bool:
        """Take ``cost`` seconds out if the bucket has them; whether it did."""
        after = (self._empty_until if self._empty_until > at else at) + cost
        if after - at > self._burst:
            return False
        self._empty_until = after
        return True


class KeyedBuckets:
    """A bucket for each key, of ``per_minute`` acts that may come all at once; 0: no limit."""

    def __init__(self, per_minute: float, max_keys: int = MAX_KEYS) -> None:
        self._burst = 60.0 + ROUNDING_S
        self._cost = share(per_minute / 60.0)
        self._max_keys = max_keys
        self._full_at: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._full_at)

    def take(self, key: str, at: float) -> float:
        """Take one act; return 0, or the seconds to wait for it."""
        if not self._cost:
            return 0.0
        after = max(self._full_at.get(key, at), at) + self._cost
        if after - at > self._burst:
            return after - at - self._burst
        self._put(key, after)
        return 0.0

    def charge(self, key: str, acts: float, at: float) -> None:
        """Take ``acts`` unconditionally, at most until the bucket is empty."""
        if self._cost:
            after = max(self._full_at.get(key, at), at) + self._cost * acts
            self._put(key, min(after, at + self._burst))

    def _put(self, key: str, full_at: float) -> None:
        self._full_at[key] = full_at
        self._full_at.move_to_end(key)
        if len(self._full_at) > self._max_keys:
            self._full_at.popitem(last=False)
