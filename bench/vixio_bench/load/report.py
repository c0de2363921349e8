"""The table at the end, for people and as JSON."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from vixio import __version__
from vixio_bench.load.figures import Result
from vixio_bench.load.marks import Verdict
from vixio_bench.load.nodes import NOTE as NOTE_OF_NODES
from vixio_bench.load.nodes import rows as rows_of_nodes
from vixio_bench.load.usage import Spread
from vixio_bench.load.work import PARTS

DISTURBED_CORES: Final = 0.5
"""Of other work; more, and the figures are not of this server alone."""


def machine() -> dict[str, str]:
    """Return what the figures depend on besides the server."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "?"
    return {
        "cpu": model,
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "vixio": __version__,
        "load before": load,
    }


def table(results: Sequence[Result]) -> str:
    """Return one column a step, one line a figure; what no step has is left out."""
    rows: list[tuple[str, list[str]]] = [
        ("mix", [result.mix for result in results]),
        ("providers", [result.providers for result in results]),
        ("carrier", [result.carrier for result in results]),
        ("devices", [str(result.devices) for result in results]),
        ("connected at the end", [str(result.connected) for result in results]),
        ("server processes", [str(result.processes) for result in results]),
        ("core, times the reference's time", [f"{result.slowness:.2f}" for result in results]),
        ("  and by what others use of it", [f"{result.shared:.2f}" for result in results]),
        ("held, s", [f"{result.hold:.0f}" for result in results]),
    ]

    def add(name: str, cells: list[str]) -> None:
        if any(cells):
            rows.append((name, cells))

    add("turns/s", [f"{r.turns_per_s:.2f}" if r.turns else "" for r in results])
    add("share of a turn, ms ¹", [_spread(r.share) for r in results])
    for stage, name in _STAGE_NAMES.items():
        add(f"  {name}", [_spread(r.stages.get(stage)) for r in results])
    for group in dict.fromkeys(name for r in results for name in r.groups):
        add(f"  {group}", [_spread(r.groups.get(group)) for r in results])
    add("CPU of a turn, ms ³", [f"{r.turn_cpu_ms:.1f}" if r.turn_cpu_ms else "" for r in results])
    for part in (part for part in PARTS if any(part in r.work for r in results)):
        add(f"  {part}", [f"{r.work[part]:.2f}" if part in r.work else "" for r in results])
    add("held for the device, ms ²", [_spread(r.held) for r in results])
    add("last word → sound, ms", [_spread(r.response) for r in results])
    add("capture → decision, ms", [_spread(r.decision_lag) for r in results])
    add("connect → hello, ms", [_spread(r.hello) for r in results])
    add("loop late, ms", [_spread(r.loop_lag) for r in results])
    add("server CPU, cores", [f"{r.server_cpu:.3f}" for r in results])
    for name in dict.fromkeys(name for r in results for name in r.cpu_by_thread):
        add(
            f"  {name}",
            [f"{r.cpu_by_thread[name]:.3f}" if name in r.cpu_by_thread else "" for r in results],
        )
    add("  s a device-second", [f"{r.cpu_per_device:.5f}" for r in results])
    add(
        "  while it only listens",
        [f"{r.listening_cpu:.5f}" if r.listening_cpu else "" for r in results],
    )
    add("memory, MB (idle)", [f"{r.rss / 1024:.0f} ({r.idle_rss / 1024:.0f})" for r in results])
    add(
        "  KB a device",
        [f"{r.memory_per_device:.0f}" if r.memory_per_device else "" for r in results],
    )
    add(
        "  MB of its workers",
        [
            f"{r.counts['children_rss_kb'] / 1024:.0f}" if "children_rss_kb" in r.counts else ""
            for r in results
        ],
    )
    for name in dict.fromkeys(name for r in results for name in r.growth):
        add(f"  {name}, rise ± scatter", [_growth(r, name) for r in results])
    add("frames played", [_count(r, "frames") for r in results])
    add("  late/underrun/overflow", [_three(r) for r in results])
    add("  before the device could play", [_count(r, "too_early") for r in results])
    add("  jitter p95, ms", [f"{r.jitter_p95:.1f}" if r.jitter_p95 else "" for r in results])
    add("turns asked", [_count(r, "turns") for r in results])
    add("  lost/late/crossed/unheard", [_four(r) for r in results])
    add("refused, dropped", [_refusals(r) for r in results])
    for name in dict.fromkeys(name for r in results for name in r.seconds):
        add(f"{name}, s", [f"{r.seconds[name]:.2f}" if name in r.seconds else "" for r in results])
    add("generators", [str(r.generators) for r in results])
    add("  CPU, cores (busiest)", [f"{r.generator_cpu:.2f} ({r.generator_busiest:.2f})"
                                   for r in results])  # fmt: skip
    add("  loop late p99, ms", [f"{r.generator_lag:.1f}" for r in results])
    add("stand-ins answered in, ms", [_spread(r.answered) for r in results])
    add("  CPU, cores", [f"{r.services_cpu:.2f}" if r.services_cpu else "" for r in results])
    add("other work, cores", [f"{r.others:.2f}" for r in results])
    of_nodes = rows_of_nodes(results)
    for name, cells in of_nodes:
        add(name, cells)
    note = f"{_NOTE}\n{NOTE_OF_NODES}" if of_nodes else _NOTE
    return "\n".join([*_columns(rows), "", "Distributions are p50 / p95 / p99.", note])


_STAGE_NAMES = {
    "turn_end": "end of turn → words",
    "transcript": "→ first token",
    "first_token": "→ first sentence",
    "first_sentence": "→ first audio",
    "first_audio": "→ first frame sent",
}
_NOTE = (
    "¹ end of turn decided → first frame sent, less the scripted providers' delays and less ².\n"
    "² the first frame was ready and waited until the device could play (output.start_lead_ms).\n"
    "³ beside listening; the parts below include it. Without turns: ms in each second of a device."
)


def warnings(results: Sequence[Result]) -> list[str]:
    """Return, in words, where the generators were the limit and what went wrong."""
    lines: list[str] = []
    for result in results:
        lines += [
            f"THE GENERATOR WAS THE LIMIT in {result.mix} with {result.devices}: {why}; "
            "these figures are not the server's"
            for why in result.generator_limits
        ]
        if result.others > DISTURBED_CORES:
            lines.append(
                f"{result.mix} {result.devices}: other work took {result.others:.1f} of the "
                "machine's cores meanwhile; repeat this when it is quiet"
            )
        lines += [f"{result.mix} {result.devices}: {what}" for what in result.trouble[:5]]
    return lines


def verdicts(found: Sequence[Verdict]) -> str:
    """Return the marks with what was found."""
    words = {True: "ok", False: "MISSED", None: "-"}
    rows = [(words[verdict.ok], [verdict.mark, verdict.wanted, verdict.found]) for verdict in found]
    return "\n".join(_columns([("", ["mark", "wanted", "found"]), *rows]))


def as_json(results: Sequence[Result], found: Sequence[Verdict], command: Sequence[str]) -> str:
    """Return everything."""
    body = {
        "command": ["vixio", "bench", "load", *command],
        "machine": machine(),
        "steps": [asdict(result) for result in results],
        "marks": [asdict(verdict) for verdict in found],
    }
    return json.dumps(body, indent=2, ensure_ascii=False)


def write_json(text: str, target: str) -> None:
    """Write to a file, or to standard output for ``-``."""
    if target == "-":
        sys.stdout.write(text + "\n")
    else:
        Path(target).write_text(text + "\n", encoding="utf-8")


def _columns(rows: Sequence[tuple[str, list[str]]]) -> list[str]:
    count = max(len(cells) for _, cells in rows)
    widths = [max(len(cells[column]) for _, cells in rows) for column in range(count)]
    first = max(len(name) for name, _ in rows)
    return [
        "  ".join(
            [name.ljust(first)]
            + [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        ).rstrip()
        for name, cells in rows
    ]


def _spread(spread: Spread | None) -> str:
    if spread is None or not spread.count:
        return ""
    return " / ".join(f"{value:.4g}" for value in (spread.p50, spread.p95, spread.p99))


def _count(result: Result, name: str) -> str:
    return str(result.counts[name]) if result.counts.get(name) else ""


def _growth(result: Result, name: str) -> str:
    grown = result.growth.get(name)
    return f"{grown.rise:+.0f} ± {grown.scatter:.0f}" if grown is not None else ""


def _three(result: Result) -> str:
    if not result.counts.get("frames"):
        return ""
    names = ("late_frames", "underruns", "overflows")
    return " / ".join(str(result.counts.get(name, 0)) for name in names)


def _four(result: Result) -> str:
    if not result.counts.get("turns"):
        return ""
    names = ("lost", "late_turns", "crossed", "unheard")
    return " / ".join(str(result.counts.get(name, 0)) for name in names)


def _refusals(result: Result) -> str:
    refused = result.counts.get("refused", 0) + result.server_counters.get("ramp.refused", 0)
    dropped = result.counts.get("dropped", 0)
    return f"{refused}, {dropped}" if refused or dropped else ""
