"""How fast this machine's cores are, so that marks mean the same on each machine."""

from __future__ import annotations

import asyncio
import statistics
import sys
from typing import Final

from vixio.composition.core_speed import CoreSpeed, core_speed
from vixio_bench.load.control import BenchError

ROUNDS: Final = 15
"""Of which the median counts: the speed of a shared machine varies from second to second."""

MOST_CORES: Final = 4


async def calibrate(cores: int) -> CoreSpeed:
    """Return how fast a core is, and how far other programs use it.

    As many ``cores`` work at the same time as will do so under load, since two that share a
    physical one are slower together. Takes about three seconds. Raises BenchError.
    """
    workers = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-m", __name__, stdout=asyncio.subprocess.PIPE
        )
        for _ in range(max(1, min(cores, MOST_CORES)))
    ]
    said = await asyncio.gather(*(worker.communicate() for worker in workers))
    if failed := next((worker for worker in workers if worker.returncode), None):
        raise BenchError(f"the speed of a core cannot be measured: status {failed.returncode}")
    found = [tuple(map(float, out.split())) for out, _ in said]
    slowness, shared = (statistics.median(each) for each in zip(*found, strict=True))
    return CoreSpeed(round(slowness, 2), round(shared, 2))


def main() -> None:
    """Print the speed of one core."""
    speed = core_speed(ROUNDS, whole=True)
    sys.stdout.write(f"{speed.slowness} {speed.shared}\n")


if __name__ == "__main__":
    main()
