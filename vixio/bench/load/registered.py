"""What the registry costs: each step once without it, and once with devices that it knows."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vixio.bench.load.figures import Result
from vixio.core.wall_clock import now_ms
from vixio.database.create import make_database
from vixio.database.database import Database
from vixio.devices.tables import DeviceTable


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


def comparison(results: Sequence[Result], difference: str) -> str:
    """Compare pairs of results, without and with something; a line for each."""
    lines = []
    for without, with_it in zip(results[::2], results[1::2], strict=True):
        ratios = [
            f"{name} x{after / before:.2f}"
            for name, before, after in (
                ("p50", without.share.p50, with_it.share.p50),
                ("p95", without.share.p95, with_it.share.p95),
            )
            if before
        ]
        what = f"{with_it.mix}, {with_it.devices} devices"
        memory = (with_it.rss - without.rss) / 1024
        cpu = with_it.server_cpu / without.server_cpu if without.server_cpu else 0.0
        lines.append(
            f"{what}, {difference}: share of a turn {', '.join(ratios) or 'not measured'}; "
            f"CPU x{cpu:.2f}; memory {memory:+.1f} MB"
        )
    return "\n".join(lines)
