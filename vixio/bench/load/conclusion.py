"""The last lines of ``vixio bench load``: what the figures mean."""

from __future__ import annotations

from collections.abc import Sequence

from vixio.bench.load.figures import Result
from vixio.bench.load.marks import Verdict

_FAULTS = {
    "lost": "without an answer",
    "late_turns": "late",
    "crossed": "answered to another device",
    "unheard": "not understood",
    "not_listening": "with a device that did not listen",
}


def conclusion(results: Sequence[Result], found: Sequence[Verdict]) -> str:
    """Return a line for each step, and with marks one line about these.

    The exit status follows the marks alone.
    """
    lines = [_of_step(result) for result in results]
    if found:
        measured = [verdict for verdict in found if verdict.ok is not None]
        missed = sum(verdict.ok is False for verdict in measured)
        lines.append(
            f"{missed} of {len(measured)} marks missed"
            if missed
            else f"all {len(measured)} marks reached"
            + (f", {len(found) - len(measured)} not measured" if len(found) > len(measured) else "")
        )
    return "\n".join(lines)


def _of_step(result: Result) -> str:
    who = f"{result.mix}, {result.devices} device{'s' if result.devices > 1 else ''}"
    if result.nodes:
        one_killed = ", one of them killed" if result.killed else ""
        who += f", {result.nodes} node{'s' if result.nodes > 1 else ''}{one_killed}"
    if result.generator_limits:
        return f"{who}: no verdict, the simulated devices had too few cores"
    faults: list[str] = []
    if result.connected < result.devices:
        faults.append(f"{result.devices - result.connected} not connected at the end")
    turns = result.counts.get("turns", result.turns)
    bad = [
        f"{number} {words}"
        for name, words in _FAULTS.items()
        if (number := result.counts.get(name))
    ]
    if bad:
        faults.append(f"of {turns} turns {', '.join(bad)}")
    if result.bad_frames:
        frames = result.counts.get("frames", 0)
        faults.append(f"{result.bad_frames} of {frames} frames of speech late or lost")
    if faults:
        return f"{who}: too many for this server: {'; '.join(faults)}"
    return f"{who}: all turns on time" if turns else f"{who}: all served"
