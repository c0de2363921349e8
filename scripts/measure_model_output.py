#!/usr/bin/env python3
"""Prints what it costs to read one piece of a model's answer, with 125 tools offered."""

from __future__ import annotations

import re
import time
from typing import Final

from vixio.language.model_output.reader import OutputReader

_ENGLISH: Final = (
    "The weather in Berlin is fine today: 21 degrees, a light wind from the west. Do you want to "
    "know more? I can also turn on the lamp, or play some music. "
)
_CHINESE: Final = (
    "今天北京天气很好，气温二十一度，有微风。您还想知道什么吗？我也可以帮您开灯，或者放点音乐。"
)
_TOOLS: Final = {f"self_device_{number}_set_value": {"type": "object"} for number in range(125)}
_REPEATS: Final = 5
_TIMES: Final = 40


def _microseconds(pieces: list[str]) -> float:
    """Return the time for one of the pieces of an answer, the best of several readings."""
    best = float("inf")
    for _ in range(_REPEATS):
        reader = OutputReader(tuple(_TOOLS), _TOOLS.get)
        began = time.perf_counter()
        for piece in pieces:
            reader.feed(piece)
        best = min(best, time.perf_counter() - began)
    return best / len(pieces) * 1e6


def main() -> None:
    """Measure answers in words, in pairs of characters, and in pieces of sixty characters."""
    english, chinese = _ENGLISH * _TIMES, _CHINESE * _TIMES
    long = [english[start : start + 60] for start in range(0, len(english), 60)]
    for name, pieces in (
        ("words", re.findall(r"\s?\S+", english)),
        ("pairs of Chinese characters", re.findall("..?", chinese)),
        ("sixty characters", long),
    ):
        print(f"{name}: {_microseconds(pieces):.1f} µs a piece")


if __name__ == "__main__":
    main()
