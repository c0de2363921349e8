"""The comparison of one process, one node and several nodes: its steps, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from vixio_bench.load.bus import lacking
from vixio_bench.load.cluster_figures import Killed
from vixio_bench.load.figures import Result
from vixio_bench.load.mixes import Mix
from vixio_bench.load.registered import comparison
from vixio_bench.load.usage import Spread

QUIET_S: Final = 10.0
"""In which all only listen: nodes give a sign of life every 2 s."""
IDLE_S: Final = 8.0
"""For which nodes without devices are watched, for the same reason."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to run a step. ``nodes`` 0: one process without a cluster."""

    nodes: int
    kill: bool = False


def listening_first(mix: Mix) -> Mix:
    """Return the mix with a time before the first turn that is long enough to count messages."""
    return replace(mix, quiet=max(mix.quiet, QUIET_S)) if mix.behaviour == "talk" else mix


def variants(nodes: int, *, kill: bool) -> list[Variant]:
    """Return the ways that are compared, each with the one before it."""
    ways = [Variant(0), Variant(1)]
    if nodes > 1:
        ways.append(Variant(nodes))
    if kill:
        ways.append(Variant(nodes, kill=True))
    return ways


def check(nodes: int, *, kill: bool, mixes: Sequence[Mix]) -> None:
    """Raise ValueError for what cannot be compared, and for what this machine lacks."""
    if nodes < 0:
        raise ValueError(f"--nodes: expected a number of at least 1, not {nodes}")
    if kill and nodes < 2:
        raise ValueError("--kill: needs --nodes with at least 2")
    if nodes and (lack := lacking()):
        raise ValueError(f"--nodes: {lack}")
    for mix in mixes:
        if nodes and (mix.restart or mix.default_set):
            raise ValueError(f"--nodes: not with the mix {mix.name}")
        if kill and (mix.behaviour != "talk" or mix.slow):
            raise ValueError(f"--kill: needs turns, so not with the mix {mix.name}")


def said(results: Sequence[Result], ways: Sequence[Variant]) -> str:
    """Compare the results of steps that were run in all ``ways``, in this order."""
    of_way = [results[index :: len(ways)] for index in range(len(ways))]
    words = ["one node of a cluster against one process without", *map(_against, ways[2:])]
    lines: list[str] = []
    for before, after, what in zip(of_way, of_way[1:], words, strict=False):
        pairs = [each for both in zip(before, after, strict=True) for each in both]
        lines.append(comparison(pairs, what))
    lines += [killed_words(result) for result in results if result.killed is not None]
    return "\n".join(lines)


def _against(way: Variant) -> str:
    if way.kill:
        return f"{way.nodes - 1} nodes after one of {way.nodes} was killed against {way.nodes}"
    return f"{way.nodes} nodes against one"


def killed_words(result: Result) -> str:
    """Return what the kill of a node cost."""
    killed = result.killed
    if killed is None:
        return ""
    return (
        f"{result.mix}, {result.devices} devices, one of {result.nodes} nodes killed: "
        f"its {killed.devices} devices were greeted by others after {killed.greeted.p50:.0f} ms "
        f"(p50), the last after {killed.greeted.max:.0f} ms; {killed.cut} turns cut off, "
        f"{killed.lost} lost; {killed.answered} of its devices had answers afterwards; "
        f"{_delays(killed)}"
    )


def _delays(killed: Killed) -> str:
    share = (killed.share_before, killed.share_moved, killed.share_others)
    heard = (killed.response_before, killed.response_after)
    return (
        f"share of a turn p50 / p95 before {_both(share[0])}, after it {_both(share[1])} for "
        f"these and {_both(share[2])} for the others; last word → sound before {_both(heard[0])}, "
        f"after it {_both(heard[1])} ms"
    )


def _both(spread: Spread) -> str:
    return f"{spread.p50:.4g} / {spread.p95:.4g}"


def rows(results: Sequence[Result]) -> list[tuple[str, list[str]]]:
    """Return the lines of the table about bus and kill; empty without nodes."""
    if not any(result.nodes for result in results):
        return []

    def row(name: str, cell: Callable[[Result], str]) -> tuple[str, list[str]]:
        return name, [cell(result) for result in results]

    return [
        row("nodes of a cluster", _nodes),
        *(row(f"nats-server CPU, {phase}, cores", _cpu(phase)) for phase in _PHASES),
        row("nats-server memory, MB (idle)", _memory),
        *(row(f"bus, {phase}: msg/s in, out", _rates(phase, "msgs", 1)) for phase in _PHASES),
        *(row(f"bus, {phase}: KB/s in, out", _rates(phase, "bytes", 1_000)) for phase in _PHASES),
        row("bus for a device that connects: msg in, KB in", _of_connecting),
        *(row(f"bus for a device, {phase} ⁴", _per_device(phase)) for phase in _PHASES[1:]),
        row("killed: devices greeted again, ms", _greeted),
        row("  turns cut off, lost", _cut),
    ]


_PHASES: Final = ("idle", "listening", "measuring")

NOTE: Final = (
    "⁴ above the idle nodes', in each second: messages in, out; bytes in, out. Bytes are of the "
    "messages alone."
)


def _nodes(result: Result) -> str:
    return f"{result.nodes}{', one killed' if result.killed else ''}" if result.nodes else "none"


def _cpu(phase: str) -> Callable[[Result], str]:
    def cell(result: Result) -> str:
        rate = result.bus.phases.get(phase) if result.bus else None
        return f"{rate.cpu:.4f}" if rate else ""

    return cell


def _memory(result: Result) -> str:
    bus = result.bus
    return f"{bus.rss / 1024:.1f} ({bus.idle_rss / 1024:.1f})" if bus else ""


def _rates(phase: str, what: str, unit: int) -> Callable[[Result], str]:
    def cell(result: Result) -> str:
        rate = result.bus.phases.get(phase) if result.bus else None
        if rate is None:
            return ""
        sent, delivered = (getattr(rate, f"{way}_{what}") / unit for way in ("in", "out"))
        return f"{sent:.4g}, {delivered:.4g}"

    return cell


def _of_connecting(result: Result) -> str:
    rate = result.bus.phases.get("connecting") if result.bus else None
    if rate is None:
        return ""
    scale = rate.seconds / max(1, result.devices)
    return f"{rate.in_msgs * scale:.1f}, {rate.in_bytes * scale / 1_000:.2f}"


def _per_device(phase: str) -> Callable[[Result], str]:
    def cell(result: Result) -> str:
        phases = result.bus.phases if result.bus else {}
        rate, idle = phases.get(phase), phases.get("idle")
        if rate is None or idle is None:
            return ""
        more = [
            max(0.0, getattr(rate, name) - getattr(idle, name)) / max(1, result.devices)
            for name in ("in_msgs", "out_msgs", "in_bytes", "out_bytes")
        ]
        return f"{more[0]:.3f}, {more[1]:.3f}; {more[2]:.0f}, {more[3]:.0f}"

    return cell


def _greeted(result: Result) -> str:
    spread = result.killed.greeted if result.killed else None
    return f"{spread.p50:.0f} / {spread.p95:.0f} / {spread.max:.0f} (max)" if spread else ""


def _cut(result: Result) -> str:
    return f"{result.killed.cut}, {result.killed.lost}" if result.killed else ""
