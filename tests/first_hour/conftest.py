"""The environment in which all steps of the walk take place, in their order."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.first_hour.house import House, Way, make_house, pull_down

_HOUSES: list[House] = []


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A clean environment after `make setup`.

    For work on the walk itself, FIRST_HOUR_IN names a folder that is kept, and used again.
    """
    kept = os.environ.get("FIRST_HOUR_IN")
    house = make_house(Path(kept) if kept else tmp_path_factory.mktemp("house"))
    house.setup = asyncio.run(house.run("make setup"))
    house.ways.append(Way("make setup", house.setup.seconds, house.megabytes()))
    _HOUSES.append(house)
    yield house
    if not kept:
        pull_down(house)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show what each way costs; README.md has this table."""
    for house in _HOUSES:
        terminalreporter.section("what each way costs")
        for way in house.ways:
            terminalreporter.line(f"{way.name:<52} {way.seconds:5.0f} s {way.megabytes:6.0f} MB")
