"""Latency and CPU against devices, as an SVG, without a plotting library.

A plotting library would weigh more than the whole server; two curves need none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from vixio_bench.load.figures import Result

_WIDTH: Final = 760
_PANEL: Final = 240
_LEFT: Final = 70
_RIGHT: Final = 190
_TOP: Final = 50
_GAP: Final = 60
_COLOURS: Final = ("#1f6fb4", "#d1495b", "#3a7d44", "#8d6cab", "#b8860b", "#444444")


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a panel: its name and its points (devices, value), by devices."""

    name: str
    points: tuple[tuple[float, float], ...]


def write_plot(results: Sequence[Result], path: Path, title: str) -> None:
    """Draw the steps, one curve a mix and figure. Raises ValueError for another file than SVG."""
    if path.suffix.lower() != ".svg":
        raise ValueError(f"the plot is an SVG: name it {path.with_suffix('.svg').name}")
    latency = [
        *_curves(results, "share p50", lambda r: r.share.p50 if r.share.count else None),
        *_curves(results, "share p95", lambda r: r.share.p95 if r.share.count else None),
        *_curves(
            [result for result in results if result.mix == "listen"],
            "capture → decision p95",
            lambda r: r.decision_lag.p95,
        ),
    ]
    cpu = [
        *_curves(results, "server", lambda r: r.server_cpu),
        *_curves(results, "generators", lambda r: r.generator_cpu),
    ]
    height = _TOP + 2 * _PANEL + 2 * _GAP
    most = max(result.devices for result in results)
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
            f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="12">'
        ),
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        _text(_LEFT, 22, title, size=14),
        *_panel(_TOP, "milliseconds", latency, most),
        *_panel(_TOP + _PANEL + _GAP, "cores", cpu, most),
        "</svg>",
    ]
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")


def _curves(
    results: Sequence[Result], name: str, value: Callable[[Result], float | None]
) -> list[Curve]:
    curves: list[Curve] = []
    for mix in dict.fromkeys(result.mix for result in results):
        points: list[tuple[float, float]] = []
        for result in sorted(results, key=lambda result: result.devices):
            found = value(result) if result.mix == mix else None
            if found is not None:
                points.append((result.devices, found))
        if points:
            curves.append(Curve(f"{mix}: {name}", tuple(points)))
    return curves


def nice_step(most: float, count: int = 5) -> float:
    """Return a step of 1, 2 or 5 times a power of ten that cuts ``most`` in about ``count``."""
    rough = max(most, 1e-9) / count
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)


def _panel(top: int, unit: str, curves: Sequence[Curve], most_devices: float) -> list[str]:
    width = _WIDTH - _LEFT - _RIGHT
    highest = max((value for curve in curves for _, value in curve.points), default=1.0) or 1.0
    step = nice_step(highest)
    ceiling = math.ceil(highest / step) * step
    bottom = top + _PANEL

    def across(devices: float) -> float:
        return _LEFT + width * devices / most_devices

    def up(value: float) -> float:
        return bottom - _PANEL * value / ceiling

    parts = [_text(_LEFT - 60, top - 8, unit)]
    for index in range(round(ceiling / step) + 1):
        at = up(index * step)
        parts.append(
            f'<line x1="{_LEFT}" x2="{_LEFT + width}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>'
        )
        parts.append(_text(_LEFT - 8, at + 4, f"{index * step:g}", anchor="end"))
    across_step = nice_step(most_devices, 8)
    for index in range(int(most_devices / across_step) + 1):
        at = across(index * across_step)
        parts.append(_text(at, bottom + 18, f"{index * across_step:g}", anchor="middle"))
    parts.append(_text(_LEFT + width, bottom + 34, "devices", anchor="end"))
    for index, curve in enumerate(curves):
        colour = _COLOURS[index % len(_COLOURS)]
        points = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in curve.points)
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        parts += [
            f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="3" fill="{colour}"/>'
            for x, y in curve.points
        ]
        parts.append(_text(_LEFT + width + 10, top + 14 + 16 * index, curve.name, colour=colour))
    return parts


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", colour: str = "#222", size: int = 12
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" '
        f'font-size="{size}">{escape(text)}</text>'
    )
