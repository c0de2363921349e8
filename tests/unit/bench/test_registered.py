"""The comparison of steps without and with a registry."""

from __future__ import annotations

import asyncio
from pathlib import Path

from vixio.bench.load.figures import Result
from vixio.bench.load.registered import comparison, registry_of
from vixio.bench.load.usage import Spread
from vixio.database.create import make_database
from vixio.devices.desk import Desk


def test_a_registry_is_filled(tmp_path: Path) -> None:
    section = registry_of(tmp_path, 300)

    async def known() -> int:
        database = make_database(Path(section["folder"]), section["database"])
        await database.open()
        devices = await Desk(database).devices()
        await database.close()
        assert all(device.claimed_at for device in devices)
        return len({device.id for device in devices})

    assert asyncio.run(known()) == 300


def test_pairs_are_compared() -> None:
    without = Result(
        "converse", 200, share=Spread(9, 10.0, 20.0, 30.0, 31.0), server_cpu=0.5, rss=102_400
    )
    with_it = Result(
        "converse", 200, share=Spread(9, 10.5, 22.0, 30.0, 31.0), server_cpu=0.6, rss=104_448
    )
    assert comparison([without, with_it], "with the registry") == (
        "converse, 200 devices, with the registry: share of a turn p50 x1.05, p95 x1.10; "
        "CPU x1.20; memory +2.0 MB"
    )
