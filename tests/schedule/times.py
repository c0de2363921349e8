"""How long each test file takes: measured by a pytest plugin, kept in ``times.tsv``.

As a plugin (``-p tests.schedule.times``) it appends a line for each test to the file that the
environment variable ``VIXIO_TEST_TIMES`` names.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

VARIABLE = "VIXIO_TEST_TIMES"
RECORD = Path(__file__).with_name("times.tsv")
HEADER = "# target, file, seconds of wall, seconds of processor: make test-times\n"


@dataclass(frozen=True)
class Time:
    """Seconds of one file, or of several. ``cpu``: with the processes that the tests waited for."""

    wall: float
    cpu: float

    def __add__(self, other: Time) -> Time:
        return Time(self.wall + other.wall, self.cpu + other.cpu)


NOTHING = Time(0.0, 0.0)
UNKNOWN = Time(2.0, 1.0)
"""Of a file that was not measured yet."""

Times = Mapping[tuple[str, str], Time]
"""By target and file."""


def read(path: Path = RECORD) -> Times:
    """Read the record."""
    found: dict[tuple[str, str], Time] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            target, file, wall, cpu = line.split("\t")
            found[target, file] = Time(float(wall), float(cpu))
    return found


def write(times: Times, path: Path = RECORD) -> None:
    """Write the record."""
    lines = [
        f"{target}\t{file}\t{each.wall:.1f}\t{each.cpu:.1f}\n"
        for (target, file), each in sorted(times.items())
    ]
    path.write_text(HEADER + "".join(lines), encoding="utf-8")


def of_files(lines: Iterable[str]) -> dict[str, Time]:
    """Sum what the plugin wrote, by file."""
    found: dict[str, Time] = defaultdict(lambda: NOTHING)
    for line in lines:
        test = json.loads(line)
        found[test["file"]] += Time(test["wall"], test["cpu"])
    return dict(found)


def _cpu() -> float:
    times = os.times()
    warm = sys.modules.get("tests.support.warm")
    forked_s = float(warm.WarmPopen.all_s) if warm is not None else 0.0
    return times.user + times.system + times.children_user + times.children_system + forked_s


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Time a test with its fixtures."""
    path = os.environ.get(VARIABLE)
    began, cpu = time.monotonic(), _cpu()
    result = yield
    if path:
        test = {
            "file": item.nodeid.partition("::")[0],
            "test": item.nodeid,
            "wall": time.monotonic() - began,
            "cpu": _cpu() - cpu,
        }
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(test) + "\n")
    return result
