"""A form for a profile: what can stand in it, and what is wrong with what is typed."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, Field

from vixio.data.devices.profile_repository import MAX_BYTES, NAME_PATTERN, RESERVED
from vixio.data.devices.records import NotKnown
from vixio.web.api.access import SCOPED, Service
from vixio.web.api.fields import PRINTABLE, Body
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope

MAX_DEVICES: Final = 100
"""In an answer."""


class CheckBody(Body):
    """A profile that is being written."""

    name: Annotated[str, Field(max_length=64, pattern=PRINTABLE)] = Field(
        default="", description="Empty: it has none yet."
    )
    content: dict[str, Any] = Field(examples=[{"language": "de", "wake_reply": "Ja?"}])


class Mistake(BaseModel):
    """What is wrong at one place."""

    path: str = Field(description="Such as asr.model; empty: the profile as a whole.")
    message: str


class ProfileDevice(BaseModel):
    """A device that has the profile."""

    id: str
    name: str
    online: bool


class Change(BaseModel):
    """A value that differs from what is stored."""

    path: str
    before: Any = Field(description="As it is stored; null: it is not there.")
    after: Any = Field(description="As it is written; null: it is not there.")


class Checked(BaseModel):
    """What would become of a profile that is written so."""

    valid: bool
    errors: list[Mistake]
    devices: list[ProfileDevice] = Field(description="Those that have it now, 100 at most.")
    devices_total: int
    changes: list[Change] = Field(
        description="Against what is stored; references to variables are not expanded."
    )


class KnownLanguage(BaseModel):
    """A language whose name is known."""

    tag: str = Field(description="BCP 47; others are allowed.")
    name: str


class KnownName(BaseModel):
    """A name in braces that instructions can have."""

    name: str
    about: str


class KnownProvider(BaseModel):
    """A provider that a section can name."""

    name: str
    installed: bool = Field(description="Whether its packages are there.")
    remedy: str = Field(description="What installs them; empty: nothing needs to be done.")
    lists_voices: bool
    languages: list[str] | None = Field(
        description="With its default options, BCP 47; null: not known."
    )
    options: dict[str, Any] | None = Field(
        description="The JSON Schema of its options, of which secrets are writeOnly."
    )


class ProfileForm(BaseModel):
    """What a form for a profile can offer."""

    content: dict[str, Any] = Field(alias="schema", description="The JSON Schema of a content.")
    languages: list[KnownLanguage]
    names: list[KnownName]
    providers: dict[str, list[KnownProvider]] = Field(description="By kind: vad, asr, agent, tts.")
    defaults: dict[str, Any] = Field(
        description="What holds where a profile has no value; secrets are masked."
    )


async def check_profile(service: Service, body: CheckBody) -> Checked:
    """Check a profile without writing it; providers are not started."""
    content = body.content
    found = await asyncio.to_thread(service.ports.drafts.mistakes, content)
    errors = [*_about_all(body), *(Mistake(path=path, message=text) for path, text in found)]
    before: Mapping[str, Any] = {}
    try:
        before = (
            await service.read(lambda repository: repository.profiles.find(body.name))
        ).content
    except NotKnown:
        pass
    devices, total = await service.read(
        lambda repository: repository.with_profile(body.name, MAX_DEVICES)
    )
    return Checked(
        valid=not errors,
        errors=errors,
        devices=[
            ProfileDevice(id=device, name=name, online=service.online(device))
            for device, name in devices
        ],
        devices_total=total,
        changes=[
            Change(path=path, before=old, after=new)
            for path, old, new in differences(before, content)
        ],
    )


async def profile_form(service: Service) -> ProfileForm:
    """Return the schema of a profile's content, and what a form can offer."""
    return ProfileForm.model_validate(await asyncio.to_thread(service.ports.drafts.form))


def differences(
    before: Mapping[str, Any], after: Mapping[str, Any], above: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """Yield path, old and new value of each place at which two contents differ."""
    for key in sorted({*before, *after}):
        path = f"{above}.{key}" if above else key
        old, new = before.get(key), after.get(key)
        nested = [each for each in (old, new) if isinstance(each, Mapping)]
        if nested and all(each is None or isinstance(each, Mapping) for each in (old, new)):
            yield from differences(old or {}, new or {}, path)
            if not any(nested) and (old is None) != (new is None):
                yield path, old, new
        elif old != new:
            yield path, old, new


def _about_all(body: CheckBody) -> Iterator[Mistake]:
    if body.name and (body.name == RESERVED or not re.fullmatch(NAME_PATTERN, body.name)):
        yield Mistake(path="", message=f"{body.name!r} is no name for a profile: take another")
    if len(json.dumps(body.content)) > MAX_BYTES:
        yield Mistake(path="", message=f"a profile has at most {MAX_BYTES // 1024} KB")


def make_routes() -> Routes:
    """Return the routes. They come before those of single profiles, whose names they would be."""
    routes = Routes("profiles")
    scope = SCOPED[Scope.PROFILES]
    routes.add("GET", "/profiles/schema", profile_form, scope)
    routes.add("POST", "/profiles/check", check_profile, scope)
    return routes
