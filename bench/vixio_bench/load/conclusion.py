"""The last lines of ``vixio bench load``: what the figures mean."""

from __future__ import annotations

from collections.abc import Sequence

from vixio_bench.load.figures import Result
from vixio_bench.load.marks import Verdict

_FAULTS = {
    "lost": "without an answer",
    "late_turns": "late",
    "crossed": "answered to another device",
    "unheard": "not understood",
    "not_listening": "with a device that did not listen",
}


NOTED = 1.05
"""From this factor on the limits are said to be wider."""


def conclusion(results: Sequence[Result], found: Sequence[Verdict]) -> str:
    """Return a line for each step, and with marks one line about these.

    The exit status follows the marks alone.
    """
    lines = [_of_step(result) for result in results]
    if found:
        measured = [verdict for verdict in found if verdict.ok is not None]
        missed = sum(verdict.ok is False for verdict in measured)
        others = len(found) - len(measured)
        not_measured = f", {others} not measured" if others else ""
        if not measured:
            lines.append("no mark reached: none was measured")
        elif missed:
            lines.append(f"{missed} of {len(measured)} marks missed{not_measured}")
        else:
            lines.append(f"all {len(measured)} marks reached{not_measured}")
        slower = max((result.slower for result in results), default=1.0)
        if slower > NOTED:
            lines.append(
                f"limits that are times were up to x{slower:.2f} as wide as the table says,"
                " since the cores are slow or shared"
            )
    return "\n".join(lines)


def _of_step(result: Result) -> str:
    who = f"{result.mix}, {result.devices} device{'s' if result.devices > 1 else ''}"
    if result.carrier != "websocket":
        who += f", {result.carrier}"
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
