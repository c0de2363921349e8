"""``make crash``: kills, a hundred times for each database (``--rounds``, ``--seed``)."""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from tests.crash.rounds import Told, check, check_deliveries, check_turns, kill_round
from tests.support.databases import postgres_server
from tests.support.registry_databases import new_postgres
from vixio.data.database.create import make_database

EMPTY_EVERY = 4
"""Each fourth round begins with an empty database: its migrations are what is killed."""


async def run(name: str, server: str, rounds: int, seed: int) -> None:
    """Kill and check, and print what was found at the end. Raises AssertionError."""
    chance = random.Random(f"{seed} {name}")
    began, changes, unopened = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory() as place:
        folder, url = Path(place), ""
        for number in range(rounds):
            if number % EMPTY_EVERY == 0:
                folder = Path(place) / str(number)
                url = new_postgres(server) if server else ""
            told = await kill_round(folder, url, str(number), chance)
            changes += told.lines
            unopened += told.lines <= len(told.state) + 2
            database = make_database(folder, url)
            await database.open()
            await check(database, told)
            await database.close()
    print(
        f"{name}: {rounds} rounds of two processes killed, {unopened} before their first change, "
        f"{changes} acknowledged changes, none lost; {time.monotonic() - began:.0f} s"
    )


async def run_deliveries(name: str, server: str, rounds: int, seed: int) -> None:
    """Kill processes that deliver reminders; then look at what became of each."""
    chance = random.Random(f"{seed} {name} deliveries")
    began, added, said, unknown = time.monotonic(), 0, 0, 0
    with tempfile.TemporaryDirectory() as place:
        for number in range(0, rounds, EMPTY_EVERY):
            folder, told = Path(place) / str(number), Told()
            url = new_postgres(server) if server else ""
            for each in range(min(EMPTY_EVERY, rounds - number)):
                await kill_round(folder, url, str(each), chance, "speaker", told)
            database = make_database(folder, url)
            await database.open()
            left, lost = await check_deliveries(database, told)
            await database.close()
            added, said, unknown = added + len(told.added), said + left, unknown + lost
    print(
        f"{name}: {rounds} rounds of two processes killed while they deliver, {added} deliveries, "
        f"none lost, none said twice; {said} said by the next process, {unknown} unknown; "
        f"{time.monotonic() - began:.0f} s"
    )


async def run_turns(name: str, server: str, rounds: int, seed: int) -> None:
    """Kill processes that put conversations on record; then look at all of them."""
    chance = random.Random(f"{seed} {name} turns")
    began, told, turns = time.monotonic(), Told(), 0
    with tempfile.TemporaryDirectory() as place:
        folder, url = Path(place), new_postgres(server) if server else ""
        for number in range(rounds):
            await kill_round(folder, url, str(number), chance, "talker", told)
            database = make_database(folder, url)
            await database.open()
            turns = await check_turns(database, told)
            await database.close()
    print(
        f"{name}: {rounds} rounds of two processes killed while they put turns on record, "
        f"{len(told.recorded)} conversations acknowledged, none lost and none by half; {turns} "
        f"turns; {time.monotonic() - began:.0f} s"
    )


def main() -> None:
    """Run it on both databases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    with ExitStack() as stack:
        for name in ("sqlite", "postgresql"):
            server = stack.enter_context(postgres_server()) if name == "postgresql" else ""
            asyncio.run(run(name, server, options.rounds, options.seed))
            asyncio.run(run_deliveries(name, server, options.rounds, options.seed))
            asyncio.run(run_turns(name, server, options.rounds, options.seed))


if __name__ == "__main__":
    main()
