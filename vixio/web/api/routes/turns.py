"""Turns that are found among those of all devices."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

from fastapi import Query
from pydantic import BaseModel, Field

from vixio.data.conversations.search import LAST, Place, TurnQuery, find_turns
from vixio.web.api.access import SCOPED, Service
from vixio.web.api.fields import PRINTABLE, Filter
from vixio.web.api.routes.conversations import Turn
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope

Outcome = Literal[
    "", "answered", "not_understood", "tool_failed", "interrupted", "failed", "unfinished"
]

Moment = Annotated[int, Query(ge=0, le=LAST.at)]

Limit = Annotated[int, Query(ge=1, le=100)]

Cursor = Annotated[
    str,
    Query(
        max_length=320,
        pattern=r"^(\d{1,18}/\d{1,18}/[^\x00-\x1f\x7f]*)?$",
        description="As the last answer has it.",
    ),
]

Words = Annotated[
    str,
    Query(
        max_length=128,
        pattern=PRINTABLE,
        description="Parts of words, eight at most, that all were heard or said in the turn.",
    ),
]


class FoundTurn(Turn):
    """A turn, with the name of its device."""

    device_name: str


class FoundTurnList(BaseModel):
    """The newest first. There may be fewer than `limit`, even none, and yet more to come: one
    request goes through 50,000 turns."""

    turns: list[FoundTurn]
    cursor: str | None = Field(description="To go on with; null: that was all.")


async def search_turns(
    service: Service,
    search: Words = "",
    device: Filter = "",
    person: Filter = "",
    profile: Filter = "",
    outcome: Outcome = "",
    after: Moment = 0,
    before: Moment = LAST.at,
    limit: Limit = 50,
    cursor: Cursor = "",
) -> FoundTurnList:
    """Find turns: by words, by the device or the person whom it belongs to, by the profile of then,
    by outcome, and by time, from `after` to before `before`."""
    query = TurnQuery(
        words=search,
        device_id=(await service.device(device)).id if device else "",
        person=(await service.read(lambda all_: all_.people.find(person))).id if person else "",
        profile=profile,
        outcome=outcome,
        after=after,
        before=before,
    )
    start = LAST
    if cursor:
        at, turn, session = cursor.split("/", 2)
        start = Place(int(at), int(turn), session)
    await service.ports.turns_written()
    found = await service.use(lambda database: find_turns(database, query, start, limit))
    return FoundTurnList(
        turns=[FoundTurn(**asdict(turn), device_name=name) for turn, name in found.turns],
        cursor="/".join(map(str, found.next)) if found.next else None,
    )


def make_routes() -> Routes:
    """Return the routes."""
    routes = Routes("conversations")
    read = SCOPED[Scope.CONVERSATIONS_READ]
    routes.add("GET", "/turns", search_turns, read, errors=(404, 409))
    return routes
