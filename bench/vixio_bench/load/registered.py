"""What the registry costs: each step once without it, and once with devices that it knows."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Self

from vixio.core.wall_clock import now_ms
from vixio.data.database.create import make_database
from vixio.data.database.database import Database
from vixio.data.devices.tables import DeviceTable
from vixio_bench.load.figures import Result


def registry_of(folder: Path, number: int) -> dict[str, Any]:
    """Make a registry of ``number`` devices in ``folder``; return the section ``data`` for it."""
    asyncio.run(_fill(make_database(folder, ""), number))
    return {"folder": str(folder), "database": ""}


async def _fill(database: Database, number: int) -> None:
    await database.open()
    at = now_ms()
    async with database.transaction() as transaction:
        devices = DeviceTable(transaction)
        for each in range(number):
            device_id = f"06:00:00:00:{each >> 8:02x}:{each & 255:02x}"
            await devices.add(device_id, at)
            await devices.set(device_id, name=f"Device {each}", claimed_at=at, client_id="c")
    await database.close()


@dataclass(frozen=True, slots=True)
class Pair:
    """What a step cost with something, as a multiple of the same step without it."""

    step: str
    p50: float | None
    p95: float | None
    cpu: float | None
    memory_mb: float
    """More than without it."""

    @classmethod
    def of(cls, without: Result, with_it: Result) -> Self:
        """Compare two results of one step."""
        return cls(
            f"{with_it.mix}, {with_it.devices} devices",
            _ratio(without.share.p50, with_it.share.p50),
            _ratio(without.share.p95, with_it.share.p95),
            _ratio(without.server_cpu, with_it.server_cpu),
            (with_it.rss - without.rss) / 1024,
        )

    def __str__(self) -> str:
        ratios = (("p50", self.p50), ("p95", self.p95))
        shares = [f"{name} x{ratio:.2f}" for name, ratio in ratios if ratio is not None]
        return (
            f"share of a turn {', '.join(shares) or 'not measured'}; "
            f"CPU x{self.cpu or 0:.2f}; memory {self.memory_mb:+.1f} MB"
        )


def comparison(results: Sequence[Result], difference: str) -> str:
    """Compare pairs of results, without and with something; a line for each.

    Then one with the medians of each step that was run several times: the machine's speed may
    change within a pair.
    """
    pairs = [Pair.of(*both) for both in zip(results[::2], results[1::2], strict=True)]
    lines = [f"{pair.step}, {difference}: {pair}" for pair in pairs]
    for step in dict.fromkeys(pair.step for pair in pairs):
        same = [pair for pair in pairs if pair.step == step]
        if len(same) > 1:
            middle = Pair(
                step,
                _median(pair.p50 for pair in same),
                _median(pair.p95 for pair in same),
                _median(pair.cpu for pair in same),
                median(pair.memory_mb for pair in same),
            )
            lines.append(f"{step}, {difference}, medians of {len(same)} pairs: {middle}")
    return "\n".join(lines)


def _ratio(before: float, after: float) -> float | None:
    return after / before if before else None


def _median(ratios: Iterable[float | None]) -> float | None:
    measured = [ratio for ratio in ratios if ratio is not None]
    return median(measured) if measured else None
