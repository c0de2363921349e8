"""The stream of events: server-sent events, resumable, of what the token lets be seen."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Header, Query
from pydantic import BaseModel, ConfigDict, Field

from vixio.web.api.access import Service, Who, any_token
from vixio.web.api.event_stream import MEDIA_TYPE, EventStream, Wish
from vixio.web.api.event_visibility import sees_anything
from vixio.web.api.fields import Filter
from vixio.web.api.problems import Problem, too_many, unavailable
from vixio.web.api.routing import Routes
from vixio.web.feed.feed import TooManyWatches
from vixio.web.feed.position import parse

MAX_STREAMS: Final = 8
"""Of one token, in one process."""

MAX_ID: Final = 4_000
"""Characters of an id: there is a part for each process."""

Types = Annotated[
    str,
    Query(
        max_length=500,
        pattern=r"^([a-z]+(\.[a-z]+)*(,[a-z]+(\.[a-z]+)*)*)?$",
        description="Types to have, with commas between; `turn` means all `turn....`. Empty: all.",
    ),
]

After = Annotated[
    str, Query(max_length=MAX_ID, description="As Last-Event-ID, where no header can be sent.")
]

LastEventId = Annotated[
    str,
    Header(
        max_length=MAX_ID,
        description="Where to go on: the last id that was received. Without it, from now on.",
    ),
]


class StreamedEvent(BaseModel):
    """One event; docs/api-http.md lists the types and their further fields."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(examples=["turn.started"])
    at: int = Field(description="Milliseconds since 1970.")
    device_id: str = ""


_CONTENT: Final = {MEDIA_TYPE: {"itemSchema": StreamedEvent.model_json_schema()}}
"""As OpenAPI 3.2 describes streams."""


async def stream_events(
    service: Service,
    who: Who,
    device: Filter = "",
    types: Types = "",
    after: After = "",
    last_event_id: LastEventId = "",
) -> EventStream:
    """Follow what happens, as far as the token lets it be seen.

    Each event is a JSON object in `data`. `{"type": "missed"}` means that something was lost since
    the id that was given: read again what you show. Comes back after a pause with `Last-Event-ID`.
    """
    if not sees_anything(who):
        raise Problem(403, "the token lets no event be seen: it needs devices:read, or another")
    device_id = (await service.device(device)).id if device else ""
    place = last_event_id or after
    try:
        position = parse(place) if place else None
    except ValueError as error:
        raise Problem(422, f"Last-Event-ID: {error}") from None
    wish = Wish(device_id, tuple(filter(None, types.split(","))))
    streams = service.streams
    if streams[who.token_id] >= MAX_STREAMS:
        raise too_many(f"this token has {MAX_STREAMS} streams already: close one", 10)
    streams[who.token_id] += 1  # before it waits: of many requests at once, each counts

    def ended() -> None:
        streams[who.token_id] -= 1
        if not streams[who.token_id]:
            del streams[who.token_id]

    try:
        watch = await service.ports.feed.watch(position)
    except BaseException as error:
        ended()
        if isinstance(error, TooManyWatches):
            raise unavailable("too many streams are open, try again later", 30) from None
        raise
    service.ports.counters.add("api.streams")
    return EventStream(watch, who, wish, service, ended)


def make_routes() -> Routes:
    """Return the routes."""
    routes = Routes("events")
    routes.add(
        "GET",
        "/events",
        stream_events,
        any_token,
        errors=(404,),
        response_class=EventStream,
        documented={200: {"description": "Events", "content": _CONTENT}},
    )
    return routes
