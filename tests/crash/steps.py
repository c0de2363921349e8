"""What the workers of the crash test have in common."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from vixio.data.database.create import make_database
from vixio.data.database.database import Database


def say(*what: str) -> None:
    """Acknowledge a step: a line with a JSON list."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


async def opened(folder: str, url: str) -> Database:
    """Open the database, and say when it has begun and when it is done."""
    say("started")
    database = make_database(Path(folder), url)
    await database.open()
    say("opened")
    return database
