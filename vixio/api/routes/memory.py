"""What is remembered: of devices, and about people."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pydantic import BaseModel, Field

from vixio.api.access import SCOPED, Service
from vixio.api.fields import DevicePath
from vixio.api.problems import Problem
from vixio.api.routes.people import PersonPath
from vixio.api.routing import Routes
from vixio.api.scopes import Scope
from vixio.api.service import ApiService
from vixio.core.facts import person_owner
from vixio.database.link import Operation, Unavailable
from vixio.memory.records import device_key, to_input_items
from vixio.memory.store import MemoryStore

T = TypeVar("T")


class DeviceMemory(BaseModel):
    """What is remembered of a device."""

    device: str
    facts: list[str] = Field(description="Its own. Those of a device of somebody are the person's.")
    summary: str = Field(description="Of what was said before the turns.")
    turns: list[list[dict[str, Any]]] = Field(
        description="The last turns, oldest first, each as input items of a model."
    )


class PersonMemory(BaseModel):
    """What is remembered about a person."""

    person: str
    facts: list[str] = Field(description="Oldest first.")


class Erased(BaseModel):
    """What became of a request to erase."""

    erased: bool = Field(description="false: nothing was remembered.")


async def show_memory(service: Service, device: DevicePath) -> DeviceMemory:
    """Show what is remembered of a device."""
    known = await service.device(device)
    key = device_key(known.id)

    async def load(store: MemoryStore) -> DeviceMemory:
        remembered = await store.load(key)
        return DeviceMemory(
            device=known.id,
            facts=list(await store.load_facts(key)),
            summary=remembered.summary,
            turns=[to_input_items(turn) for turn in remembered.turns],
        )

    return await _use(service, load)


async def erase_memory(service: Service, device: DevicePath) -> Erased:
    """Erase what is remembered of a device: conversation, summary, facts of its own.

    One that is connected follows at the end of its turn.
    """
    key = device_key((await service.device(device)).id)
    return Erased(erased=await _use(service, lambda store: store.clear(key)))


async def show_facts(service: Service, person: PersonPath) -> PersonMemory:
    """Show what is remembered about a person."""
    found = await service.read(lambda desk: desk.people.find(person))
    key = device_key(person_owner(found.id))
    facts = await _use(service, lambda store: store.load_facts(key))
    return PersonMemory(person=found.name, facts=list(facts))


async def erase_facts(service: Service, person: PersonPath) -> Erased:
    """Erase what is remembered about a person."""
    found = await service.read(lambda desk: desk.people.find(person))
    key = device_key(person_owner(found.id))
    return Erased(erased=await _use(service, lambda store: store.clear(key)))


async def _use(service: ApiService, work: Callable[[MemoryStore], Awaitable[T]]) -> T:
    """Do ``work`` on the memory. Raises Problem."""
    memory = service.ports.memory
    if memory is None:
        raise Problem(409, "memory.store is none: what is remembered ends with the server")
    try:
        return await memory.link.call(Operation(work))
    except Unavailable:
        raise Problem(503, "the memory cannot be reached at the moment: try again") from None


def make_routes() -> Routes:
    """Return the routes."""
    routes = Routes("memory")
    read, write = SCOPED[Scope.CONVERSATIONS_READ], SCOPED[Scope.CONVERSATIONS_WRITE]
    of_device, of_person = "/devices/{device}/memory", "/people/{person}/facts"
    routes.add("GET", of_device, show_memory, read, errors=(404, 409))
    routes.add("DELETE", of_device, erase_memory, write, errors=(404, 409))
    routes.add("GET", of_person, show_facts, read, errors=(404, 409))
    routes.add("DELETE", of_person, erase_facts, write, errors=(404, 409))
    return routes
