"""People: whom devices belong to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Path
from pydantic import BaseModel, Field

from vixio.core.facts import person_owner
from vixio.data.devices.records import MAX_TEXT, PersonRecord
from vixio.data.devices.repository import DeviceRepository
from vixio.web.api.access import SCOPED, Service, Who
from vixio.web.api.fields import PRINTABLE, Body, DevicePath
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope

PersonPath = Annotated[
    str,
    Path(description="A person's name or id.", min_length=1, max_length=64, pattern=PRINTABLE),
]

PersonName = Annotated[
    str, Field(min_length=1, max_length=MAX_TEXT, pattern=PRINTABLE, examples=["Anna"])
]


class Person(BaseModel):
    """Somebody whom devices belong to. The id stays when the name changes."""

    id: str
    name: str
    added_at: int = Field(description="In milliseconds since 1970.")
    devices: list[str] = Field(description="The ids of the devices.")


class PersonList(BaseModel):
    """All people, by name."""

    people: list[Person]


class PersonBody(Body):
    """What a person is called."""

    name: PersonName


class GiveBody(Body):
    """Whom a device belongs to."""

    person: Annotated[str, Field(max_length=MAX_TEXT, pattern=PRINTABLE)] = Field(
        default="", description="A name or an id; empty: nobody."
    )


class Given(BaseModel):
    """The person of a device."""

    device: str
    person: str | None


async def list_people(service: Service) -> PersonList:
    """List the people."""
    return PersonList(people=await service.read(_everybody))


async def show_person(service: Service, person: PersonPath) -> Person:
    """Show a person."""
    return await service.read(lambda repository: _shown(repository, person))


async def add_person(service: Service, who: Who, body: PersonBody) -> Person:
    """Make somebody known."""
    return _person(
        await service.with_repository(
            lambda repository: repository.people.add(body.name, who.actor)
        ),
        (),
    )


async def rename_person(service: Service, who: Who, person: PersonPath, body: PersonBody) -> Person:
    """Give a person another name. What is remembered about them stays."""
    found = await service.with_repository(
        lambda repository: repository.people.rename(person, body.name, who.actor)
    )
    return await service.read(lambda repository: _shown(repository, found.id))


async def remove_person(service: Service, who: Who, person: PersonPath) -> None:
    """Remove a person, and erase what is remembered about them. The devices stay."""
    found = await service.with_repository(
        lambda repository: repository.people.remove(person, who.actor)
    )
    if (memory := service.ports.memory) is not None:
        await memory.facts.clear(person_owner(found.id))


async def give_device(service: Service, who: Who, device: DevicePath, body: GiveBody) -> Given:
    """Let a device belong to a person, or to nobody. It follows from its next turn on."""
    found = await service.with_repository(
        lambda repository: repository.give(device, body.person, who.actor)
    )
    return Given(device=found.id, person=found.person)


async def _everybody(repository: DeviceRepository) -> list[Person]:
    found, owned = await repository.people.all(), await repository.people.devices()
    return [_person(each, owned.get(each.id, ())) for each in found]


async def _shown(repository: DeviceRepository, person: str) -> Person:
    found, owned = await repository.people.find(person), await repository.people.devices()
    return _person(found, owned.get(found.id, ()))


def _person(record: PersonRecord, devices: Sequence[str]) -> Person:
    return Person(id=record.id, name=record.name, added_at=record.added_at, devices=list(devices))


def make_routes() -> Routes:
    """Return the routes."""
    routes = Routes("people")
    read, write = SCOPED[Scope.DEVICES_READ], SCOPED[Scope.DEVICES_WRITE]
    one = "/people/{person}"
    routes.add("GET", "/people", list_people, read)
    routes.add("POST", "/people", add_person, write, status=201, errors=(409,))
    routes.add("GET", one, show_person, read, errors=(404, 409))
    routes.add("PATCH", one, rename_person, write, errors=(404, 409))
    routes.add("DELETE", one, remove_person, write, status=204, errors=(404, 409))
    routes.add("PUT", "/devices/{device}/person", give_device, write, errors=(404, 409))
    return routes
