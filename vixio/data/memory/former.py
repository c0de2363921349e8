"""Takes over what earlier versions remembered outside of the registry's tables.

They kept it as sessions of the agent SDK (``agents.memory``): in a SQLite file of its own, or in
two tables of any database. A device had up to three sessions: its turns, the latest summary, the
latest list of facts. Backups of those versions have the same items.
"""

from __future__ import annotations

import logging
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from vixio.data.database.database import IO_TIMEOUT_S, Database, Transaction
from vixio.data.database.paths import state_folder
from vixio.data.memory.records import InputItem, text_of, to_input_items, to_turns
from vixio.data.memory.repository import MemoryTables, json_objects

SESSIONS: Final = "vixio_sessions"
MESSAGES: Final = "vixio_messages"

SUMMARY: Final = "/summary"
FACTS: Final = "/facts"
"""Added to a device's key, for the sessions beside that of its turns. A key never has a slash."""

_SEEN: Final = f"SELECT session_id, updated_at FROM {SESSIONS}"  # noqa: S608 - our tables
_ITEMS: Final = f"SELECT session_id, message_data FROM {MESSAGES} ORDER BY id"  # noqa: S608

_log = logging.getLogger(__name__)


class _Former(NamedTuple):
    """``seen``: session → when it was last written. ``items``: session → its items as JSON."""

    seen: Mapping[str, object]
    items: Mapping[str, Sequence[object]]


def former_file(path: str) -> Path:
    """Return the file of earlier versions: at ``memory.path``, else in the user's state folder."""
    return Path(path).expanduser() if path else state_folder() / "memory.db"


def kept_as(file: Path) -> Path:
    """Return where the file is once it was taken over."""
    return file.with_name(f"{file.name}.former")


async def take_over(database: Database, file: Path) -> None:
    """Move what is in ``file``, or in the SDK's tables of an open database, to the tables of today.

    Blocks, as a database may. Of whom something is remembered there already, nothing is moved. The
    file is kept under another name, the tables are dropped. A file that cannot be read is left as
    it is, with a line in the log.
    """
    async with database.transaction(write=False) as transaction:
        in_tables = SESSIONS in await transaction.tables()
    if in_tables:
        await _from_tables(database)
    try:
        if not file.is_file():  # noqa: ASYNC240 - in the thread of the database
            return
        former = _read(file)
    except (OSError, sqlite3.Error) as error:
        reason = str(error).splitlines()[0]
        _log.error("former memory not taken over", extra={"file": str(file), "reason": reason})
        return
    async with database.transaction() as transaction:
        number = await _add(transaction, former)
    try:
        kept = file.rename(kept_as(file))  # noqa: ASYNC240 - likewise
    except OSError as error:  # a folder that is read only, another process that was faster
        _log.debug("former memory not renamed", exc_info=error)
        return
    _log.info("former memory taken over", extra={"devices": number, "kept_as": str(kept)})


async def restore(transaction: Transaction, devices: Iterable[Mapping[str, Any]]) -> None:
    """Add what a backup of an earlier version has of devices and people."""
    tables = MemoryTables(transaction)
    for device in devices:
        turns = [item for turn in to_turns(device["turns"]) for item in to_input_items(turn)]
        await _put(tables, device["key"], turns, device["summary"], device["facts"], None)


async def _from_tables(database: Database) -> None:
    async with database.transaction() as transaction:
        await transaction.lock(SESSIONS)
        if SESSIONS not in await transaction.tables():
            return  # another process was faster
        items: dict[str, list[object]] = defaultdict(list)
        for row in await transaction.fetch(_ITEMS):
            items[row["session_id"]].append(row["message_data"])
        seen = {row["session_id"]: row["updated_at"] for row in await transaction.fetch(_SEEN)}
        number = await _add(transaction, _Former(seen, items))
        for table in (MESSAGES, SESSIONS):
            await transaction.execute(f"DROP TABLE {table}")
    _log.info("former memory taken over", extra={"devices": number})


def _read(file: Path) -> _Former:
    """Raises sqlite3.Error."""
    items: dict[str, list[object]] = defaultdict(list)
    with closing(sqlite3.connect(file, timeout=IO_TIMEOUT_S)) as connection:
        for session_id, text in connection.execute(_ITEMS):
            items[str(session_id)].append(text)
        return _Former(dict(connection.execute(_SEEN).fetchall()), items)


async def _add(transaction: Transaction, former: _Former) -> int:
    tables = MemoryTables(transaction)
    owners = sorted({session.partition("/")[0] for session in former.items})
    number = 0
    for owner in owners:
        turns, summary, facts = (
            list(json_objects(former.items.get(owner + part, ()))) for part in ("", SUMMARY, FACTS)
        )
        seen = max(_ms(former.seen.get(owner + part)) for part in ("", SUMMARY, FACTS))
        if not await tables.anything(owner):
            await _put(tables, owner, turns, _summary(summary), _facts(facts), seen)
            number += 1
    return number


async def _put(
    tables: MemoryTables,
    owner: str,
    items: Iterable[Mapping[str, Any]],
    summary: str,
    facts: Sequence[str],
    seen_ms: int | None,
) -> None:
    await tables.add(owner, [dict(item) for item in items])
    if summary:
        await tables.put_summary(owner, summary)
    if facts:
        await tables.put_facts(owner, facts)
    await tables.touch(owner, seen_ms)


def _summary(items: Sequence[InputItem]) -> str:
    return text_of(items[-1].get("content", "")) if items else ""


def _facts(items: Sequence[InputItem]) -> list[str]:
    content = items[-1].get("content") if items else None
    parts = content if isinstance(content, list) else []
    return [str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part]


def _ms(at: object) -> int:
    """Read a time without a time zone as UTC: SQLite's CURRENT_TIMESTAMP, PostgreSQL's TIMESTAMP.

    One that cannot be read counts as long ago.
    """
    try:
        found = datetime.fromisoformat(at) if isinstance(at, str) else at
    except ValueError:
        return 0
    if not isinstance(found, datetime):
        return 0
    return round(found.replace(tzinfo=UTC).timestamp() * 1000)
