"""The comparison of steps without and with a registry."""

from __future__ import annotations

import asyncio
from pathlib import Path

from vixio.data.database.create import make_database
from vixio.data.devices.repository import DeviceRepository
from vixio_bench.load.figures import Result
from vixio_bench.load.registered import comparison, registry_of
from vixio_bench.load.usage import Spread


def test_a_registry_is_filled(tmp_path: Path) -> None:
    section = registry_of(tmp_path, 300)

    async def known() -> int:
        database = make_database(Path(section["folder"]), section["database"])
        await database.open()
        devices = await DeviceRepository(database).devices()
        await database.close()
        assert all(device.claimed_at for device in devices)
        return len({device.id for device in devices})

    assert asyncio.run(known()) == 300


def made(p50: float, p95: float, cpu: float, rss: int) -> Result:
    return Result("converse", 200, share=Spread(9, p50, p95, 30.0, 31.0), server_cpu=cpu, rss=rss)


def test_a_pair_is_compared() -> None:
    pair = [made(10.0, 20.0, 0.5, 102_400), made(10.5, 22.0, 0.6, 104_448)]
    assert comparison(pair, "with the registry") == (
        "converse, 200 devices, with the registry: share of a turn p50 x1.05, p95 x1.10; "
        "CPU x1.20; memory +2.0 MB"
    )


def test_several_pairs_of_a_step_have_medians() -> None:
    without = made(10.0, 20.0, 0.5, 102_400)
    slow, usual, fast = (
        made(15.0, 40.0, 0.9, 102_400),
        made(10.5, 21.0, 0.55, 104_448),
        made(9.0, 20.0, 0.5, 105_472),
    )
    said = comparison([without, slow, without, usual, without, fast], "with it").splitlines()
    assert len(said) == 4
    assert said[3] == (
        "converse, 200 devices, with it, medians of 3 pairs: share of a turn p50 x1.05, p95 x1.05; "
        "CPU x1.10; memory +2.0 MB"
    )


def test_steps_without_turns_have_no_share() -> None:
    idle = Result("idle", 5, server_cpu=0.0, rss=1_024)
    said = comparison([idle] * 4, "with it").splitlines()
    assert len(said) == 3
    assert all("share of a turn not measured; CPU x0.00" in line for line in said)
