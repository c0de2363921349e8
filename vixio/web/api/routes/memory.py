"""What is remembered: of devices, and about people."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, Field

from vixio.core.device import PERSON_PREFIX
from vixio.data.memory.device import MAX_SUMMARY_CHARS
from vixio.data.memory.fact_edits import fact_id
from vixio.data.memory.records import PERSON_KEY, device_key, owner_of, to_input_items
from vixio.data.memory.repository import Known, MemoryRepository
from vixio.web.api.access import SCOPED, Service, Who
from vixio.web.api.fields import Body, DevicePath, Offset
from vixio.web.api.memory_access import (
    Owner,
    device_owner,
    follow,
    note,
    person_owner_of,
    use,
)
from vixio.web.api.problems import Problem
from vixio.web.api.routes.people import PersonPath
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope
from vixio.web.api.service import ApiService

FACT_IDS = "The ids of the facts, in their order: by them one is changed or removed."

HASHED = "sha256-"
"""What the key of a device begins with whose id is no plain word."""

Part = Annotated[int, Query(ge=1, le=100)]


class MemoryOf(BaseModel):
    """How much is remembered of a device, or about a person."""

    kind: Literal["device", "person"]
    id: str
    name: str = Field(description="Empty: it has none, or is not known any more.")
    seen: int = Field(description="The last write, in milliseconds since 1970.")
    facts: int
    turns: int
    summary: bool


class MemoryList(BaseModel):
    """A part of what is remembered, the last written first."""

    total: int
    memories: list[MemoryOf]


class DeviceMemory(BaseModel):
    """What is remembered of a device."""

    device: str
    facts: list[str] = Field(description="Its own. Those of a device of somebody are the person's.")
    fact_ids: list[str] = Field(description=FACT_IDS)
    summary: str = Field(description="Of what was said before the turns.")
    turns: list[list[dict[str, Any]]] = Field(
        description="The last turns, oldest first, each as input items of a model."
    )


class PersonMemory(BaseModel):
    """What is remembered about a person."""

    person: str
    facts: list[str] = Field(description="Oldest first.")
    fact_ids: list[str] = Field(description=FACT_IDS)


class Erased(BaseModel):
    """What became of a request to erase."""

    erased: bool = Field(description="false: nothing was remembered.")


SummaryText = Annotated[str, Field(max_length=MAX_SUMMARY_CHARS)]


class SummaryBody(Body):
    """Another summary."""

    summary: SummaryText = Field(description="Empty: erase it.")
    expected: SummaryText | None = Field(
        default=None, description="What it was when it was read; if it is another now: 409."
    )


class Summary(BaseModel):
    """The summary of what was said before the turns."""

    summary: str


async def list_memories(
    service: Service,
    kind: Annotated[Literal["device", "person"] | None, Query()] = None,
    limit: Part = 50,
    offset: Offset = 0,
) -> MemoryList:
    """List of which devices and about which people something is remembered."""
    found = await use(service, lambda store: store.known())
    wanted = [each for each in found if kind is None or _kind(each.key) == kind]
    names = _Names(service)
    part = wanted[offset : offset + limit]
    return MemoryList(
        total=len(wanted), memories=[await _outline(service, each, names) for each in part]
    )


async def show_memory(service: Service, device: DevicePath) -> DeviceMemory:
    """Show what is remembered of a device."""
    whose = await device_owner(service, device)

    async def load(store: MemoryRepository) -> DeviceMemory:
        remembered = await store.load(whose.key)
        facts = list(await store.load_facts(whose.key))
        return DeviceMemory(
            device=whose.id,
            facts=facts,
            fact_ids=[fact_id(fact) for fact in facts],
            summary=remembered.summary,
            turns=[to_input_items(turn) for turn in remembered.turns],
        )

    return await use(service, load)


async def erase_memory(service: Service, who: Who, device: DevicePath) -> Erased:
    """Erase what is remembered of a device: conversation, summary, facts of its own.

    One that is connected follows at its next turn.
    """
    whose = await device_owner(service, device)
    erased = await _erase(service, who.actor, whose)
    await follow(service, whose)
    return erased


async def write_summary(
    service: Service, who: Who, device: DevicePath, body: SummaryBody
) -> Summary:
    """Rewrite or erase the summary of a device's earlier conversation.

    One that is connected follows at its next turn. The model replaces the summary when there is
    more to sum up.
    """
    whose = await device_owner(service, device)
    summary = body.summary.strip()

    async def write(store: MemoryRepository) -> bool:
        if body.expected is not None and (await store.load(whose.key)).summary != body.expected:
            return False
        await store.save_summary(whose.key, summary, keep=None)
        return True

    if not await use(service, write):
        raise Problem(409, "the summary is another one by now: read it again")
    await note(service, who.actor, "summary changed" if summary else "summary erased", whose)
    await follow(service, whose)
    return Summary(summary=summary)


async def show_facts(service: Service, person: PersonPath) -> PersonMemory:
    """Show what is remembered about a person."""
    whose = await person_owner_of(service, person)
    facts = list(await use(service, lambda store: store.load_facts(whose.key)))
    return PersonMemory(person=whose.name, facts=facts, fact_ids=[fact_id(fact) for fact in facts])


async def erase_facts(service: Service, who: Who, person: PersonPath) -> Erased:
    """Erase what is remembered about a person."""
    return await _erase(service, who.actor, await person_owner_of(service, person))


async def _erase(service: ApiService, actor: str, whose: Owner) -> Erased:
    erased = await use(service, lambda store: store.clear(whose.key))
    if erased:
        await note(service, actor, "memory erased", whose)
    return Erased(erased=erased)


class _Names:
    """The names of devices and people, by their keys."""

    def __init__(self, service: ApiService) -> None:
        known = service.ports.registry.known
        self._standings, self._people = known.standings, known.people
        self._hashed: dict[str, str] | None = None

    def of(self, key: str) -> tuple[str, str]:
        """Return the id and the name."""
        if key.startswith(PERSON_KEY):
            person = owner_of(key).removeprefix(PERSON_PREFIX)
            return person, self._people.get(person, "")
        if key.startswith(HASHED):
            if self._hashed is None:
                self._hashed = {device_key(each): each for each in self._standings}
            key = self._hashed.get(key, key)
        standing = self._standings.get(key)
        return key, standing.name if standing is not None else ""


def _kind(key: str) -> Literal["device", "person"]:
    return "person" if key.startswith(PERSON_KEY) else "device"


async def _outline(service: ApiService, known: Known, names: _Names) -> MemoryOf:
    async def load(store: MemoryRepository) -> tuple[int, int, bool]:
        facts, remembered = await store.load_facts(known.key), await store.load(known.key)
        return len(facts), len(remembered.turns), bool(remembered.summary)

    # One operation each: a long list lets what devices say be written in between.
    facts, turns, summary = await use(service, load)
    owner, name = names.of(known.key)
    return MemoryOf(
        kind=_kind(known.key),
        id=owner,
        name=name,
        seen=round(known.seen * 1000),
        facts=facts,
        turns=turns,
        summary=summary,
    )


def make_routes() -> Routes:
    """Return the routes."""
    routes = Routes("memory")
    read, write = SCOPED[Scope.CONVERSATIONS_READ], SCOPED[Scope.CONVERSATIONS_WRITE]
    of_device, of_person = "/devices/{device}/memory", "/people/{person}/facts"
    routes.add("GET", "/memory", list_memories, read, errors=(409,))
    routes.add("GET", of_device, show_memory, read, errors=(404, 409))
    routes.add("DELETE", of_device, erase_memory, write, errors=(404, 409))
    routes.add("PUT", f"{of_device}/summary", write_summary, write, errors=(404, 409))
    routes.add("GET", of_person, show_facts, read, errors=(404, 409))
    routes.add("DELETE", of_person, erase_facts, write, errors=(404, 409))
    return routes
