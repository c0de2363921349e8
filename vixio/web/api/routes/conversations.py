"""Conversations on record: listed, shown with their timelines, searched, erased."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Final, Literal

from fastapi import Path, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from vixio.core.audio import LISTEN_RATE, wav
from vixio.data.conversations.repository import ConversationRepository, Turns
from vixio.data.conversations.search import LAST, Place, TurnQuery, find_turns
from vixio.web.api.access import SCOPED, Service, Who
from vixio.web.api.fields import PRINTABLE, DevicePath, Filter, Limit, Offset
from vixio.web.api.problems import Problem
from vixio.web.api.routes.voices import WAV, WAV_ANSWER
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope
from vixio.web.api.turn_stream import TurnStream

SessionPath = Annotated[
    str, Path(description="A session's id.", min_length=1, max_length=128, pattern=PRINTABLE)
]

Outcome = Literal[
    "", "answered", "not_understood", "tool_failed", "interrupted", "failed", "unfinished"
]

TurnPath = Annotated[int, Path(description="A turn's number.", ge=0, le=2**53)]

NO_SOUND: Final = "there is no sound of this turn"

Moment = Annotated[int, Query(ge=0, le=LAST.at)]

PartLimit = Annotated[int, Query(ge=1, le=100)]

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


class Conversation(BaseModel):
    """The turns of one connection. Times are milliseconds since 1970."""

    session_id: str
    device_id: str
    began_at: int
    last_at: int
    turns: int


class ConversationList(BaseModel):
    """The newest first."""

    conversations: list[Conversation]


class Turn(BaseModel):
    """A turn."""

    device_id: str
    session_id: str
    turn: int
    at: int = Field(description="When it began, in milliseconds since 1970.")
    heard: str = Field(description="What the user said or typed.")
    guess: str = Field(
        description="What the recogniser may have heard of words that it declined; perhaps nobody "
        "said it."
    )
    said: str = Field(description="What was heard of the answer, or read.")
    outcome: str = Field(
        description="answered, not_understood, tool_failed, interrupted:CAUSE or failed:REASON"
    )
    error: str
    stages: dict[str, int] = Field(
        description="Milliseconds after the end of the user's turn at which a stage was reached."
    )
    tools: list[dict[str, Any]]
    models: list[dict[str, Any]]
    profile: str = Field(
        description="Of the device, at the end of the turn; empty: none, or the turn was put on "
        "record before profiles were."
    )

    sound_ms: int = Field(
        description="How much of what the user said is there as sound; 0: nothing."
    )


class TurnList(BaseModel):
    """Turns in their order."""

    turns: list[Turn]


class FoundTurn(Turn):
    """A turn, with the name of its device."""

    device_name: str


class FoundTurnList(BaseModel):
    """The newest first. There may be fewer than `limit`, even none, and yet more to come: one
    request goes through 50,000 turns."""

    turns: list[FoundTurn]
    cursor: str | None = Field(description="To go on with; null: that was all.")


class Erased(BaseModel):
    """What was erased."""

    turns: int


async def list_conversations(
    service: Service, device: Filter = "", limit: Limit = 100, offset: Offset = 0
) -> ConversationList:
    """List conversations, of all devices or of one."""
    device_id = (await service.device(device)).id if device else ""
    await service.ports.turns_written()
    found = await service.use(
        lambda database: ConversationRepository(database).conversations(
            device_id, limit=limit, offset=offset
        )
    )
    return ConversationList(conversations=[Conversation(**asdict(each)) for each in found])


async def search_turns(
    service: Service,
    search: Words = "",
    device: Filter = "",
    person: Filter = "",
    profile: Filter = "",
    outcome: Outcome = "",
    after: Moment = 0,
    before: Moment = LAST.at,
    limit: PartLimit = 50,
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


async def show_conversation(service: Service, session: SessionPath) -> TurnStream:
    """Show the turns of a conversation, with their timelines and tool calls."""
    await service.ports.turns_written()
    found = await TurnStream.begin(service, Turns.of_session(session))
    if found.empty:
        raise Problem(404, f"no conversation {session} is on record")
    return found


async def export_conversations(service: Service, device: DevicePath) -> TurnStream:
    """Return all turns of a device, oldest first."""
    known = await service.device(device)
    await service.ports.turns_written()
    return await TurnStream.begin(service, Turns.of_device(known.id))


async def erase_conversations(
    service: Service, who: Who, device: DevicePath, session: Filter = ""
) -> Erased:
    """Remove the turns of a device, or of one of its conversations. Its memory stays."""
    known = await service.device(device)
    await service.ports.turns_written()
    number = await service.use(
        lambda database: ConversationRepository(database).erase(known.id, session)
    )
    return Erased(turns=number)


async def turn_sound(service: Service, session: SessionPath, turn: TurnPath) -> Response:
    """Return what the user said in a turn, as a WAV file: 16 kHz, 16 bits, mono."""
    await service.ports.turns_written()
    pcm = await service.use(lambda database: ConversationRepository(database).sound(session, turn))
    if pcm is None:
        raise Problem(404, NO_SOUND)
    return Response(wav(pcm, LISTEN_RATE), media_type=WAV)


async def erase_sound(service: Service, who: Who, session: SessionPath, turn: TurnPath) -> None:
    """Remove what the user said in a turn as sound. The words stay."""
    await service.ports.turns_written()
    if not await service.change(
        lambda database: ConversationRepository(database).erase_sound(session, turn, who.actor)
    ):
        raise Problem(404, NO_SOUND)


def make_routes() -> Routes:
    """Return the routes."""
    routes = Routes("conversations")
    read, write = SCOPED[Scope.CONVERSATIONS_READ], SCOPED[Scope.CONVERSATIONS_WRITE]
    of_device = "/devices/{device}/turns"
    routes.add("GET", "/conversations", list_conversations, read, errors=(404, 409))
    routes.add("GET", "/turns", search_turns, read, errors=(404, 409))
    turns: dict[str, Any] = {"response_class": TurnStream, "documented": {200: {"model": TurnList}}}
    one = "/conversations/{session}"
    routes.add("GET", one, show_conversation, read, errors=(404, 409), **turns)
    sound = f"{one}/turns/{{turn}}/sound"
    routes.add("GET", sound, turn_sound, read, errors=(404, 409), **WAV_ANSWER)
    routes.add("DELETE", sound, erase_sound, write, status=204, errors=(404, 409))
    routes.add("GET", of_device, export_conversations, read, errors=(404, 409), **turns)
    routes.add("DELETE", of_device, erase_conversations, write, errors=(404, 409))
    return routes
