"""Turns that are found among all on record: by words, device, person, profile, outcome, time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from vixio.data.conversations.records import SOUND_MS, TurnRecord
from vixio.data.database.database import Database, Value

SEARCHED: Final = 50_000
"""Turns that one call goes through: some 0.15 s in the database's thread."""

MAX_TERMS: Final = 8

_ORDER: Final = "ORDER BY at DESC, turn DESC, session_id DESC"


class Place(NamedTuple):
    """Of a turn among all, by time."""

    at: int
    turn: int
    session_id: str


LAST: Final = Place(2**62, 0, "")
"""Behind all turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnQuery:
    """What is asked for; empty: anything.

    ``words``: parts of words that all were heard or said in the turn. ``person``: the id of the
    person that the device belongs to now. ``outcome``: without its cause. ``after`` and ``before``:
    milliseconds since 1970, the first of them included.
    """

    words: str = ""
    device_id: str = ""
    person: str = ""
    profile: str = ""
    outcome: str = ""
    after: int = 0
    before: int = LAST.at


class FoundTurns(NamedTuple):
    """The newest first. ``next``: where to go on; None: that was all."""

    turns: Sequence[tuple[TurnRecord, str]]
    """Each with the name of its device, which may be empty."""
    next: Place | None


async def find_turns(
    database: Database, query: TurnQuery, start: Place = LAST, limit: int = 100
) -> FoundTurns:
    """Return turns older than ``start``. There may be fewer than ``limit``, and yet more to come:
    it goes through :data:`SEARCHED` turns at most."""
    among = "at >= :after AND at < :before AND (at, turn, session_id) < (:at, :turn, :session_id)"
    values: dict[str, Value] = {"after": query.after, "before": query.before, **start._asdict()}
    if query.device_id:
        among += " AND device_id = :device_id"
        values["device_id"] = query.device_id
    if query.person:
        among += " AND device_id IN (SELECT id FROM devices WHERE person_id = :person)"
        values["person"] = query.person
    which, wanted = _conditions(query)
    async with database.transaction(write=False) as transaction:
        row = await transaction.fetch_one(
            f"SELECT at, turn, session_id FROM turns WHERE {among} "  # noqa: S608 - constants
            f"{_ORDER} LIMIT 1 OFFSET :searched",
            **values,
            searched=SEARCHED - 1,
        )
        end = Place(**row) if row is not None else None
        last = end or Place(-1, 0, "")
        rows = await transaction.fetch(
            f"SELECT turns.*, {SOUND_MS}, "  # noqa: S608 - constants
            "COALESCE((SELECT name FROM devices WHERE id = turns.device_id), '') AS device_name "
            f"FROM turns WHERE {among} "
            f"AND (at, turn, session_id) >= (:end_at, :end_turn, :end_session){which} "
            f"{_ORDER} LIMIT :limit",
            **values,
            **wanted,
            end_at=last.at,
            end_turn=last.turn,
            end_session=last.session_id,
            limit=limit + 1,
        )
    found = [(TurnRecord.of(row), row["device_name"]) for row in rows[:limit]]
    if len(rows) > limit:
        end = Place(*(rows[limit - 1][name] for name in Place._fields))
    return FoundTurns(found, end)


def _conditions(query: TurnQuery) -> tuple[str, dict[str, Value]]:
    """Return what follows the other conditions, and its values."""
    which = ""
    values: dict[str, Value] = {}
    if query.profile:
        which += " AND profile = :profile"
        values["profile"] = query.profile
    if query.outcome:
        which += " AND (outcome = :outcome OR outcome LIKE :cause)"
        values |= {"outcome": query.outcome, "cause": f"{query.outcome}:%"}
    for number, term in enumerate(query.words.split()[:MAX_TERMS]):
        patterns = {f"word{number}_{each}": like for each, like in enumerate(_patterns(term))}
        # LOWER, since PostgreSQL's LIKE minds the case.
        either = " OR ".join(
            f"LOWER({column}) LIKE :{name} ESCAPE '!'"
            for name in patterns
            for column in ("heard", "said")
        )
        which += f" AND ({either})"
        values |= patterns
    return which, values


def _patterns(term: str) -> Sequence[str]:
    """Return how a word may be written. SQLite knows the small letters of ASCII alone, so others
    are looked for as they are, as capitals, and as the beginning of a sentence."""
    forms = (term.lower(), term.upper(), term.capitalize())
    folded = dict.fromkeys(re.sub("[A-Z]+", lambda found: found[0].lower(), each) for each in forms)
    return ["%{}%".format(re.sub("([!%_])", r"!\1", each)) for each in folded]
