"""A device as the API shows it: what is on record of it, how it is served, what it does now."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from pydantic import BaseModel, Field
from starlette.responses import StreamingResponse

from vixio.core.device import Device as Known
from vixio.data.conversations.records import TurnRecord
from vixio.data.conversations.repository import ConversationRepository
from vixio.data.devices.records import DeviceLine, DeviceRecord
from vixio.web.api.access import Principal
from vixio.web.api.scopes import Scope
from vixio.web.api.service import ApiService
from vixio.web.feed.live import MAX_CHARS, Live

PART: Final = 50
"""Devices that are made in one go, in about 2 ms: other work goes on between."""


class LiveView(BaseModel):
    """What a connected device does."""

    state: str = Field(description="idle, listening, thinking, speaking or paused")
    since: int = Field(description="When that began, in milliseconds since 1970.")
    awake: bool = Field(
        description="Whether a conversation is open; false: it is idle, and can be reached."
    )
    session_id: str
    transport: str = Field(description="How its audio comes: websocket, or udp beside MQTT.")
    heard: str | None = Field(
        description="The last words of the user, 200 characters at most. null: there were none, "
        "or the token lacks conversations:read."
    )
    said: str | None = Field(description="The last words of the assistant, likewise.")


class LastWords(BaseModel):
    """The last turn of a device that is on record."""

    at: int
    heard: str = Field(description="The words of the user, 200 characters at most.")
    said: str = Field(description="The words of the assistant, likewise.")
    outcome: str = Field(description="What became of it: answered, failed:REASON, ...")


class Device(BaseModel):
    """A device. Times are milliseconds since 1970; null: it has not happened."""

    id: str
    name: str
    state: str = Field(description="claimed, unclaimed or blocked")
    online: bool = Field(description="Whether it is connected now.")
    live: LiveView | None = Field(
        description="null: it is not connected, or its process does not answer."
    )
    last: LastWords | None = Field(
        description="null: nothing is on record, or the token lacks conversations:read."
    )
    profile: str | None = Field(description="null: none but what the settings say.")
    role: str | None = Field(
        description="The profile that it has taken as a role by voice, which is over its own; "
        "null: none."
    )
    place: str = Field(description="Where it stands, by its profile and the settings.")
    spoken_language: str = Field(description="What it hears and speaks, by the same.")
    keeps_sound_days: int = Field(
        description="For how many days what is said to it is kept as sound; 0: it is not."
    )
    person: str | None = Field(description="Whom it belongs to; null: nobody.")
    carrier: str = Field(
        description="How it comes from its next start: websocket or mqtt; empty: as the settings "
        "say."
    )
    board: str
    chip: str
    firmware: str
    serial: str
    address: str = Field(description="The IP address of its last request.")
    rssi: int | None = Field(
        description="Strength of its Wi-Fi signal at its last visit to OTA, in dBm; null: unknown."
    )
    language: str = Field(description="What it states itself.")
    features: list[str]
    hears_itself: bool = Field(
        description="Whether it leaves echo cancellation to this server, which has none: it is not "
        "heard while it speaks."
    )
    lacks_glyphs: bool = Field(
        description="Whether its screen takes glyphs for rare characters, which this server cannot "
        "draw: it shows boxes."
    )
    tools: list[str]
    code: str | None = Field(description="The code that it shows while it waits for its claim.")
    first_seen: int
    last_seen: int = Field(description="0: never, it was added by hand.")
    claimed_at: int | None
    claimed_by: str
    blocked_at: int | None
    block_reason: str
    proves: bool = Field(description="Whether it has to prove that it has the key in its eFuse.")
    verified_at: int | None


class DeviceList(BaseModel):
    """A part of the devices, the last seen first. ``total``: of all that were asked for."""

    devices: list[Device]
    total: int


_OF_ITS_OWN: Final = {
    *("online", "live", "last", "role", "place", "spoken_language", "keeps_sound_days"),
    *("proves", "hears_itself", "lacks_glyphs"),
}

_FROM_RECORD: Final = Device.model_fields.keys() - _OF_ITS_OWN
"""Fields and properties of a DeviceRecord. Read one by one: ``asdict`` copies all that is in it,
which took the event loop 3 ms for a hundred devices."""


def view(
    service: ApiService,
    who: Principal,
    record: DeviceRecord,
    live: Live | None,
    last: TurnRecord | None,
) -> Device:
    """Return a device as the caller may see it. ``last``: its last turn, if it may see that."""
    known = Known(
        record.id, client_id=record.client_id, board=record.board, firmware=record.firmware
    )
    profile = service.ports.profile_of(known)
    return Device(
        **{name: getattr(record, name) for name in _FROM_RECORD},
        online=live is not None or service.online(record.id),
        live=_live(live, words=who.may(Scope.CONVERSATIONS_READ)) if live is not None else None,
        last=None if last is None else _last(last),
        role=profile.role or None,
        place=profile.place,
        spoken_language=profile.language,
        keeps_sound_days=service.ports.sound_days(known) or 0,
        proves=bool(record.hmac_key),
        hears_itself="aec" in record.features and not service.ports.cancels_echo,
        lacks_glyphs="glyph_push" in record.features and not service.ports.draws_glyphs,
    )


async def shown(service: ApiService, who: Principal, record: DeviceRecord) -> Device:
    """Return one device, with what it does now."""
    last = await last_turns(service, who, [record])
    return view(service, who, record, await service.ports.live.one(record.id), last.get(record.id))


async def last_turns(
    service: ApiService, who: Principal, records: Sequence[DeviceRecord]
) -> Mapping[str, TurnRecord]:
    """Return the last turns of devices as far as the caller may see them, by their ids."""
    if not who.may(Scope.CONVERSATIONS_READ):
        return {}
    ids = [each.id for each in records]
    return await service.use(lambda database: ConversationRepository(database).last_turns(ids))


def _last(turn: TurnRecord) -> LastWords:
    heard, said = turn.heard[:MAX_CHARS], turn.said[:MAX_CHARS]
    return LastWords(at=turn.at, heard=heard, said=said, outcome=turn.outcome)


class DeviceStream(StreamingResponse):
    """A :class:`DeviceList`, written part by part: a thousand devices are no pause for others."""

    def __init__(
        self,
        service: ApiService,
        who: Principal,
        records: Sequence[DeviceRecord],
        total: int,
        rows: Mapping[str, Any],
        last: Mapping[str, TurnRecord],
    ) -> None:
        views = (
            view(service, who, each, Live.from_json(rows.get(each.id)), last.get(each.id))
            for each in records
        )
        super().__init__(_write(views, total), media_type="application/json")


async def _write(views: Iterator[Device], total: int) -> AsyncIterator[str]:
    yield '{"devices":['
    before = ""
    while part := [each.model_dump_json() for each in islice(views, PART)]:
        yield before + ",".join(part)
        before = ","
        await asyncio.sleep(0)
    yield f'],"total":{total}}}'


async def matching(
    service: ApiService,
    lines: Sequence[DeviceLine],
    rows: Mapping[str, Any],
    *,
    search: str,
    state: str,
    online: bool | None,
) -> list[str]:
    """Return the ids of those that fit. ``rows``: of connected devices; empty and None: any.

    Here rather than in SQL: SQLite folds the case of ASCII alone, and neither the place of a device
    nor its connection is in the database.
    """
    wanted = " ".join(search.casefold().split())
    found = []
    for number, line in enumerate(lines):
        if number % PART == PART - 1:
            await asyncio.sleep(0)
        if state and line.state != state:
            continue
        if online is not None and online != (line.id in rows or service.online(line.id)):
            continue
        if not wanted or _has(service, line, wanted):
            found.append(line.id)
    return found


def _has(service: ApiService, line: DeviceLine, wanted: str) -> bool:
    if any(wanted in words.casefold() for words in (line.name, line.id, line.board)):
        return True
    profile = service.ports.profile_of(Known(line.id, client_id=line.client_id, board=line.board))
    return wanted in profile.place.casefold()


def _live(live: Live, *, words: bool) -> LiveView:
    heard, said = (live.heard or None, live.said or None) if words else (None, None)
    return LiveView(
        state=live.state,
        since=live.since,
        awake=live.awake,
        session_id=live.session_id,
        transport=live.transport,
        heard=heard,
        said=said,
    )
