"""Facts changed one by one: those of a device, and those about a person."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path
from pydantic import BaseModel, Field

from vixio.core.facts import MAX_FACT_CHARS
from vixio.data.memory.fact_edits import (
    ID_CHARS,
    FactRefused,
    adding,
    changing,
    checked_fact,
    fact_id,
    removing,
)
from vixio.web.api.access import SCOPED, Service, Who
from vixio.web.api.fields import PRINTABLE, Body, DevicePath
from vixio.web.api.memory_access import Owner, device_owner, edit_facts, note, person_owner_of
from vixio.web.api.problems import Problem
from vixio.web.api.routes.people import PersonPath
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope
from vixio.web.api.service import ApiService

FactPath = Annotated[
    str,
    Path(
        description="A fact's id, made of its words: a fact that was changed has another.",
        pattern=f"^[0-9a-f]{{{ID_CHARS}}}$",
    ),
]


class FactBody(Body):
    """The words of a fact."""

    text: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_FACT_CHARS,
            pattern=PRINTABLE,
            examples=["is allergic to nuts"],
        ),
    ]


class Fact(BaseModel):
    """A fact, as it is remembered."""

    id: str
    text: str


async def add_device_fact(service: Service, who: Who, device: DevicePath, body: FactBody) -> Fact:
    """Have a fact remembered of a device that belongs to nobody."""
    whose = await device_owner(service, device)
    if whose.belongs_to:
        raise Problem(
            409,
            f"the device belongs to {whose.belongs_to}, and so do its facts: add it to those about "
            "that person",
        )
    return await _add(service, who.actor, whose, body)


async def change_device_fact(
    service: Service, who: Who, device: DevicePath, fact: FactPath, body: FactBody
) -> Fact:
    """Give a fact of a device other words."""
    return await _change(service, who.actor, await device_owner(service, device), fact, body)


async def remove_device_fact(
    service: Service, who: Who, device: DevicePath, fact: FactPath
) -> None:
    """Remove a fact of a device."""
    await _remove(service, who.actor, await device_owner(service, device), fact)


async def add_person_fact(service: Service, who: Who, person: PersonPath, body: FactBody) -> Fact:
    """Have a fact remembered about a person, by all devices of that person."""
    return await _add(service, who.actor, await person_owner_of(service, person), body)


async def change_person_fact(
    service: Service, who: Who, person: PersonPath, fact: FactPath, body: FactBody
) -> Fact:
    """Give a fact about a person other words."""
    return await _change(service, who.actor, await person_owner_of(service, person), fact, body)


async def remove_person_fact(
    service: Service, who: Who, person: PersonPath, fact: FactPath
) -> None:
    """Remove a fact about a person."""
    await _remove(service, who.actor, await person_owner_of(service, person), fact)


async def _add(service: ApiService, actor: str, whose: Owner, body: FactBody) -> Fact:
    text = _text(body)
    await edit_facts(service, whose, adding(text))
    await note(service, actor, "fact added", whose)
    return Fact(id=fact_id(text), text=text)


async def _change(service: ApiService, actor: str, whose: Owner, fact: str, body: FactBody) -> Fact:
    text = _text(body)
    await edit_facts(service, whose, changing(fact, text))
    await note(service, actor, "fact changed", whose)
    return Fact(id=fact_id(text), text=text)


async def _remove(service: ApiService, actor: str, whose: Owner, fact: str) -> None:
    await edit_facts(service, whose, removing(fact))
    await note(service, actor, "fact removed", whose)


def _text(body: FactBody) -> str:
    try:
        return checked_fact(body.text)
    except FactRefused as error:
        raise Problem(422, f"text: {error}") from None


def make_routes() -> Routes:
    """Return the routes."""
    routes = Routes("memory")
    write = SCOPED[Scope.CONVERSATIONS_WRITE]
    of_device, of_person = "/devices/{device}/memory/facts", "/people/{person}/facts"
    errors = (404, 409)
    routes.add("POST", of_device, add_device_fact, write, status=201, errors=errors)
    one = f"{of_device}/{{fact}}"
    routes.add("PUT", one, change_device_fact, write, errors=errors)
    routes.add("DELETE", one, remove_device_fact, write, status=204, errors=errors)
    routes.add("POST", of_person, add_person_fact, write, status=201, errors=errors)
    one = f"{of_person}/{{fact}}"
    routes.add("PUT", one, change_person_fact, write, errors=errors)
    routes.add("DELETE", one, remove_person_fact, write, status=204, errors=errors)
    return routes
