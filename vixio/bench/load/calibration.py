"""How fast this machine's cores are, so that marks mean the same on each machine."""

from __future__ import annotations

import asyncio
import statistics
import sys
from typing import Final

from vixio.bench.load.control import BenchError
from vixio.composition.core_speed import REFERENCE_S, full_round

ROUNDS: Final = 15
"""Of which the median counts: the speed of a shared machine varies from second to second."""

MOST_CORES: Final = 4


async def slowness(cores: int) -> float:
    """Return how many times as long as the reference a core takes; below 1 it is faster.

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
    times = [float(out) for out, _ in said]
    return statistics.median(times) / REFERENCE_S


def typical_round() -> float:
    """Return the processor time (s) of a round: the median of :data:`ROUNDS`."""
    return statistics.median(full_round() for _ in range(ROUNDS))


if __name__ == "__main__":
    sys.stdout.write(f"{typical_round()}\n")
