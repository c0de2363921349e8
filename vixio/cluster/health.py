"""Adds the health of several processes up to that of one server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

Health = dict[str, Any]

_SUMMED = ("sessions", "connected", "handshakes")
_IF_KNOWN = ("capacity",)
"""Summed too, where all know it."""
_WORST = ("addresses", "loop_lag_ms")
"""The same address may be connected to several: how many there are, at least."""
_NAMES = ("worker", "pid", "node", "joined")
_OF_ONE = (*_NAMES, "status", *_SUMMED, *_IF_KNOWN, "overloaded", "loop_lag_ms", "a2a")


def merge_health(parts: Sequence[Health]) -> Health:
    """Put the healths of all processes together; what is the same in all is taken from the first.

    ``workers`` lists them one by one.
    """
    merged: Health = {key: value for key, value in parts[0].items() if key not in _NAMES}
    for key in _SUMMED:
        merged[key] = sum(part.get(key, 0) for part in parts)
    for key in _IF_KNOWN:
        merged.pop(key, None)
        if all(key in part for part in parts):
            merged[key] = sum(part[key] for part in parts)
    for key in _WORST:
        merged[key] = max(part.get(key, 0) for part in parts)
    merged["overloaded"] = all(part.get("overloaded", False) for part in parts)
    gauges = [part["a2a"] for part in parts if "a2a" in part]
    if gauges:
        keys = dict.fromkeys(key for each in gauges for key in each)
        merged["a2a"] = {key: sum(each.get(key, 0) for each in gauges) for key in keys}
    if unusable := sorted({kind for part in parts for kind in part.get("unusable", ())}):
        merged["unusable"] = unusable
    counters: Counter[str] = Counter()
    for part in parts:
        counters.update(part.get("counters", {}))
    merged["counters"] = dict(sorted(counters.items()))
    states = {part.get("status") for part in parts}
    worst = (state for state in ("loading", "degraded") if state in states)
    merged["status"] = "ok" if states == {"ok"} else next(worst, "loading")
    merged["workers"] = [
        {key: part[key] for key in _OF_ONE if key in part}
        for part in sorted(parts, key=lambda part: _in_order(str(part.get("worker", ""))))
    ]
    return merged


def _in_order(name: str) -> tuple[int, str]:
    """Return what sorts numbers by their value and names of one length by the alphabet."""
    return len(name), name
