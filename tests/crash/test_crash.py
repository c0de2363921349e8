"""The short form of ``make crash``."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from tests.crash.rounds import Told, check, check_deliveries, check_turns, kill_round
from tests.support.registry_databases import Make, make, postgres_url
from vixio.data.database.database import Database
from vixio.data.database.postgresql import PostgreSQLDatabase

__all__ = ["make", "postgres_url"]


async def test_a_killed_process_loses_nothing_that_it_has_acknowledged(
    make: Make, tmp_path: Path
) -> None:
    chance = random.Random(1)
    database = make()
    url = database.url if isinstance(database, PostgreSQLDatabase) else ""
    for number in range(4):
        told = await kill_round(tmp_path, url, str(number), chance)
        await database.open()
        await check(database, told)
        await database.close()


async def killed_again_and_again(
    database: Database,
    folder: Path,
    program: str,
    chance: random.Random,
    enough: Callable[[Told], bool],
) -> Told:
    """Kill a program four times, and open the database that it leaves behind.

    ``enough``: whether it has come far enough by then to be judged; until then, once more.
    """
    url = database.url if isinstance(database, PostgreSQLDatabase) else ""
    told = Told()
    rounds = 0
    while rounds < 4 or not enough(told):
        await kill_round(folder, url, str(rounds), chance, program, told)
        rounds += 1
    await database.open()
    return told


async def test_a_killed_process_loses_no_reminder_and_says_none_twice(
    make: Make, tmp_path: Path
) -> None:
    database = make()
    told = await killed_again_and_again(
        database, tmp_path, "speaker", random.Random(2), lambda told: bool(told.added)
    )
    await check_deliveries(database, told)
    await database.close()


async def test_a_killed_process_leaves_no_turn_by_half(make: Make, tmp_path: Path) -> None:
    database = make()
    told = await killed_again_and_again(
        database, tmp_path, "talker", random.Random(3), lambda told: bool(told.recorded)
    )
    assert await check_turns(database, told)
    await database.close()
