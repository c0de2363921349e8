"""Figures of the turns on record: by day, the slowest, tokens by profile."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import date, datetime, time, timedelta
from functools import partial
from heapq import nlargest
from typing import Annotated, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from fastapi import Query
from pydantic import BaseModel, Field

from vixio.core.wall_clock import now_ms
from vixio.data.conversations.records import TurnRecord
from vixio.data.conversations.statistics import SLOWEST, Figures, Part, parts_of, read_figures
from vixio.web.api.access import SCOPED, Service
from vixio.web.api.fields import PRINTABLE
from vixio.web.api.problems import Problem
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope

Days = Annotated[int, Query(ge=1, le=31, description="How many, the last of them today.")]

Zone = Annotated[
    str,
    Query(max_length=64, pattern=PRINTABLE, description="Whose days they are, as Europe/Berlin."),
]

_COUNTED: Final = ("answered", "failed", "tool_failed", "not_understood", "interrupted")


class Day(BaseModel):
    """The turns of a day. ``turns``: all of them, also those that were not finished."""

    day: str = Field(examples=["2026-11-22"])
    turns: int
    answered: int
    failed: int
    tool_failed: int
    not_understood: int
    interrupted: int
    wait_p50_ms: int | None = Field(
        description="From the end of the user's words to the first sound, in steps of 10 ms: half "
        "of the turns were as quick. null: no wait is on record."
    )
    wait_p95_ms: int | None = Field(description="Likewise, of 95 %.")


class SlowTurn(BaseModel):
    """A turn that took long, and the part of the wait that was the longest."""

    at: int = Field(description="When it began, in milliseconds since 1970.")
    device_id: str
    device_name: str
    session_id: str
    turn: int
    text: str = Field(description="What was heard.")
    wait_ms: int
    part: Part
    part_ms: int


class ProfileTokens(BaseModel):
    """What the models of a profile's turns read and wrote, as their services count."""

    profile: str = Field(
        description="Its name then; empty: none, or the turn was put on record before profiles "
        "were."
    )
    input: int
    output: int
    turns: int


class Statistics(BaseModel):
    """Days: oldest first, also those without turns. Turns: the slowest first. Profiles: those with
    most tokens first."""

    days: list[Day]
    slow: list[SlowTurn]
    tokens: list[ProfileTokens]


async def show_statistics(service: Service, days: Days = 7, zone: Zone = "UTC") -> Statistics:
    """Show what became of the turns of the last days, and how long users waited."""
    try:
        place = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # "../x", a directory
        raise Problem(422, f"zone: there is no time zone {zone!r}") from None
    await service.ports.turns_written()
    today = datetime.fromtimestamp(now_ms() / 1000, place).date()
    found: dict[date, Figures] = {}
    for day in (today - timedelta(days=before) for before in reversed(range(days))):
        start, end = (
            round(datetime.combine(each, time(), place).timestamp() * 1000)
            for each in (day, day + timedelta(days=1))
        )
        # One at a time: the database has other work to do between.
        found[day] = await service.use(partial(read_figures, start=start, end=end))
    slow = (each for figures in found.values() for each in figures.slowest)
    slowest = nlargest(SLOWEST, slow, key=lambda each: each[0].wait_ms or 0)
    tokens: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for figures in found.values():
        for profile, counted in figures.tokens.items():
            tokens[profile].update(counted)
    return Statistics(
        days=[_day(day, figures) for day, figures in found.items()],
        slow=[_slow(turn, name) for turn, name in slowest],
        tokens=[
            ProfileTokens(profile=profile, **counted)
            for profile, counted in sorted(tokens.items(), key=lambda each: -each[1]["input"])
        ],
    )


def _day(day: date, figures: Figures) -> Day:
    return Day(
        day=day.isoformat(),
        turns=figures.outcomes.total(),
        wait_p50_ms=figures.wait_ms(0.5),
        wait_p95_ms=figures.wait_ms(0.95),
        **{name: figures.outcomes[name] for name in _COUNTED},
    )


def _slow(turn: TurnRecord, name: str) -> SlowTurn:
    part, part_ms = max(parts_of(turn).items(), key=lambda each: each[1])
    return SlowTurn(
        at=turn.at,
        device_id=turn.device_id,
        device_name=name,
        session_id=turn.session_id,
        turn=turn.turn,
        text=turn.heard,
        wait_ms=turn.wait_ms or 0,
        part=part,
        part_ms=part_ms,
    )


def make_routes() -> Routes:
    """Return the routes."""
    routes = Routes("conversations")
    read = SCOPED[Scope.CONVERSATIONS_READ]
    routes.add("GET", "/statistics", show_statistics, read, errors=(409,))
    return routes
