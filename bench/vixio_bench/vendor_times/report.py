"""What our clients of the services in China add to their time, and how soon an answer is heard.

    vixio bench vendors                   # some seven minutes, offline
    vixio bench vendors --only overhead   # each provider beside its stand-in's clock
    vixio bench vendors --only sound      # conversations with simulated devices, in real time
    vixio bench vendors --repeat 5 --turns 3
    vixio bench vendors --json FILE       # each use, too

The services are stand-ins in a process of their own. Overhead: what the caller of a provider waits,
less what the stand-in says that it took, by one clock; the first of the answer (partial words, a
token, sound), and all of it. Two rows are without a client of ours: what is theirs is no client's.
First sound: the running server with stand-ins at the usual delays of
a service (partial words each 100 ms, 100 ms to all words, 300 ms to the first token, 200 ms to the
first sound), once with ears that get the utterance while it is spoken and a voice that has the
reply in one session, and once with all of it at the end and a request for each sentence. Exits with
1 if a mark is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from firmware_test_client import DeviceError
from vixio.composition.core_speed import CoreSpeed
from vixio.core.errors import VixioError
from vixio.telemetry.logging.setup import configure_logging
from vixio_bench.load.calibration import calibrate
from vixio_bench.load.processes import usable_cores
from vixio_bench.vendor_times.first_sound import WAYS, FirstSound, marks, measure_first_sound, table
from vixio_bench.vendor_times.overhead import COLD, Overheads, measure_overhead

PARTS: Final = ("overhead", "sound")


@dataclass(slots=True)
class Found:
    """All that was measured."""

    speed: CoreSpeed
    overheads: Overheads | None = None
    sounds: list[FirstSound] = field(default_factory=list)

    def marks(self) -> list[tuple[str, bool]]:
        """Return the marks of what was measured."""
        met = self.overheads.marks() if self.overheads is not None else []
        return met + (marks(self.sounds) if self.sounds else [])

    def tables(self) -> str:
        """Return the figures for people."""
        parts = [self.overheads.table()] if self.overheads is not None else []
        parts += [table(self.sounds)] if self.sounds else []
        lines = [f"{'ok  ' if met else 'MISS'} {words}" for words, met in self.marks()]
        lines.append(f"core x{self.speed.slowness:.2f}, shared x{self.speed.shared:.2f}")
        return "\n\n".join([*parts, "\n".join(lines)])

    def as_json(self) -> dict[str, Any]:
        """Return each use."""
        found = self.overheads.found if self.overheads is not None else []
        return {
            "core": {"slowness": self.speed.slowness, "shared": self.speed.shared},
            "overhead": [each.row() for each in found],
            "first_sound": [each.row() for each in self.sounds],
        }


async def measure(repeat: int, turns: int, parts: Sequence[str] = PARTS) -> Found:
    """Measure ``parts``. Raises VixioError and DeviceError."""
    found = Found(await calibrate(len(usable_cores())))
    if "overhead" in parts:
        tell = _tell("overhead", COLD + repeat)
        found.overheads = await measure_overhead(repeat, found.speed, tell)
    if "sound" in parts:
        found.sounds = await measure_first_sound(turns, _tell("first sound", turns * len(WAYS)))
    return found


def _tell(what: str, number: int) -> Callable[[], None]:
    done = 0

    def tell() -> None:
        nonlocal done
        done += 1
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{what}: {done} of {number} \033[K")

    return tell


def main(argv: Sequence[str]) -> int:
    """Measure and print; return 0 if the marks are met, 1 if not."""
    parser = argparse.ArgumentParser(
        prog="vixio bench vendors",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--repeat", type=int, default=30, help="uses of each provider")
    parser.add_argument("--turns", type=int, default=10, help="of a conversation in each way")
    parser.add_argument("--only", choices=PARTS, action="append", help="this part; repeatable")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write each use here")
    options = parser.parse_args(list(argv))
    configure_logging("ERROR")
    try:
        found = asyncio.run(measure(options.repeat, options.turns, options.only or PARTS))
    except (VixioError, DeviceError, OSError) as error:
        sys.stderr.write(f"vixio bench vendors: {error}\n")
        return 1
    if options.json is not None:
        text = json.dumps(found.as_json(), indent=1)
        options.json.write_text(text + "\n", encoding="utf-8")
    sys.stdout.write(found.tables() + "\n")
    return 0 if all(met for _, met in found.marks()) else 1
