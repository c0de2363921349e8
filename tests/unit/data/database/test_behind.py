"""What is written behind: a batch that the database does not take costs its bad entries alone."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.waiting import until
from vixio.data.database.create import make_database
from vixio.data.database.database import Database
from vixio.data.database.link import Link
from vixio.data.database.write_behind import WriteBehind


class Written:
    """Numbers, written behind to a real file. Those above :data:`LARGEST` are not taken."""

    LARGEST = 10

    def __init__(self, folder: Path) -> None:
        self.link: Link[Database] = Link(lambda: make_database(folder, ""), name="test-behind")
        self.numbers: list[int] = []
        self.dropped: list[int] = []
        self.tries: list[list[int]] = []
        self.away = 0
        self.behind: WriteBehind[list[int], list[int]] = WriteBehind(
            self.link,
            list,
            self._write,
            singly=lambda numbers: [[number] for number in numbers],
            dropped=self.dropped.extend,
            written=self.numbers.extend,
        )

    async def _write(self, numbers: list[int], database: Database) -> list[int]:
        self.tries.append(list(numbers))
        if self.away:
            self.away -= 1
            raise OSError("the disk is gone")
        if max(numbers) > self.LARGEST:
            raise ValueError("too large")
        async with database.transaction():
            return numbers

    def add(self, *numbers: int) -> None:
        self.behind.batch.extend(numbers)
        self.behind.touch()


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [[99], [1, 99, 2], [99, 98], [1, 2, 3], [1, 99, 2, 98, 3]])
async def test_a_bad_entry_is_dropped_alone(tmp_path: Path, numbers: list[int]) -> None:
    here = Written(tmp_path)
    here.add(*numbers)
    good = [number for number in numbers if number <= here.LARGEST]
    await until(lambda: len(here.numbers + here.dropped) == len(numbers))
    assert here.numbers == good
    assert here.dropped == [number for number in numbers if number not in good]
    here.add(4)  # and it goes on
    await until(lambda: here.numbers == [*good, 4])
    assert await here.behind.close()
    # Nothing is tried a third time: once with the others, once alone.
    assert len(here.tries) <= 2 + len(numbers)
    await here.link.close()


async def test_the_end_writes_what_is_good(tmp_path: Path) -> None:
    here = Written(tmp_path)
    here.add(1, 99, 2)
    assert await here.behind.close()
    assert (here.numbers, here.dropped) == ([1, 2], [99])
    assert not any(here.behind.unwritten)
    await here.link.close()


@pytest.mark.slow
async def test_a_database_that_goes_away_meanwhile_loses_nothing(tmp_path: Path) -> None:
    here = Written(tmp_path)
    here.away = 1
    here.add(1, 99, 2)
    await until(lambda: len(here.numbers) == 2)
    assert (here.numbers, here.dropped) == ([1, 2], [99])
    await here.link.close()


async def test_a_reader_finds_what_was_noted_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vixio.data.database.write_behind.GATHER_S", 3600.0)
    here = Written(tmp_path)
    await here.behind.caught_up()  # nothing was noted
    here.add(1)
    await here.behind.caught_up()
    assert here.numbers == [1]
    here.add(2)
    here.add(99)
    await asyncio.gather(here.behind.caught_up(), here.behind.caught_up())
    assert (here.numbers, here.dropped) == ([1, 2], [99])
    assert await here.behind.close()
    await here.link.close()


async def test_a_reader_does_not_wait_for_a_database_that_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vixio.data.database.write_behind.CAUGHT_UP_S", 0.05)
    here = Written(tmp_path)
    here.away = 1_000_000
    here.add(1)
    async with asyncio.timeout(30):
        await here.behind.caught_up()
    assert not here.numbers
    here.away = 0
    await here.behind.close()
    await here.link.close()
