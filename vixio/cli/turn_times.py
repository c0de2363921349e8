"""Where the time of a turn went, drawn for ``vixio talk``, ``demo`` and ``conversations``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

STEPS: Final = {
    "turn_end": "end of turn",
    "transcript": "words",
    "filler": "filler",
    "first_token": "first token",
    "first_sentence": "first sentence",
    "first_audio": "first audio",
    "first_frame": "first sound",
}
"""The marks of a turn (:data:`vixio.core.metrics.MARKS`) that are drawn, and what they are called.
``first_audio`` has been made, ``first_frame`` is on the way to the device."""

_FROM_WORDS: Final = ("transcript", "first_token", "first_sentence", "first_audio")

BAR_COLUMNS: Final = 40
_LABEL = max(len(label) for label in STEPS.values())


def response(stages: Mapping[str, int]) -> int | None:
    """Return the milliseconds from the end of speech to the first sound; None: one is unknown.

    ``stages``: the marks in milliseconds, from any zero.
    """
    if "voice_end" not in stages or "first_frame" not in stages:
        return None
    return stages["first_frame"] - stages["voice_end"]


def chart(stages: Mapping[str, int]) -> list[str]:
    """Return a line for each step: how many milliseconds it took, and a bar where they lie.

    They count from the end of speech, or from the end of the turn where that is unknown. The
    last line is their sum. Empty if there is no step.
    """
    zero = stages.get("voice_end", stages.get("turn_end", 0))
    marks = {name: stages[name] - zero for name in STEPS if name in stages}
    if "transcript" in marks:  # an answer that was begun in a pause had its words before
        marks["transcript"] = min(marks[each] for each in _FROM_WORDS if each in marks)
    reached = sorted(((at, name) for name, at in marks.items()), key=lambda each: each[0])
    if not (steps := [(at, name) for at, name in reached if at > 0 or name != "turn_end"]):
        return []
    whole = max(1, steps[-1][0])
    lines, before = [], 0
    for at, name in steps:
        left, right = (round(BAR_COLUMNS * each / whole) for each in (before, at))
        bar = " " * left + "█" * (right - left)
        lines.append(f"{STEPS[name]:<{_LABEL}}{at - before:>7} ms  {bar}".rstrip())
        before = at
    return [*lines, f"{'in all':<{_LABEL}}{steps[-1][0]:>7} ms"]
