"""The settings that are changed in the browser: the assistant, its parts, servers of tools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

from fastapi import Query
from pydantic import Field

from vixio.core.wall_clock import now_ms
from vixio.data.database.audit import AuditTable
from vixio.data.database.database import Database
from vixio.web.api.access import SCOPED, Principal, Service, Who
from vixio.web.api.assistant_settings import (
    AssistantState,
    Choices,
    Installation,
    Mistaken,
    Models,
    NotNow,
    PartTrial,
    Unusable,
)
from vixio.web.api.fields import PRINTABLE, Body
from vixio.web.api.problems import Problem
from vixio.web.api.routes.voices import TAG
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope
from vixio.web.api.service import ApiService

Language = Annotated[str, Query(max_length=64, pattern=TAG)]

_PART = (
    r"^(asr|agent|tts|mcp_servers\.[^\x00-\x1f\x7f]{1,64}"
    r"|tools\.ready\.[a-z]{1,20}|tools\.media)$"
)

_EXAMPLE = {"assistant": {"language": "de"}, "tts": {"name": "piper"}}


class SaveBody(Body):
    """The whole of what is changed in the browser."""

    content: dict[str, Any] = Field(examples=[_EXAMPLE])
    changed_at: int | None = Field(
        default=None,
        description="That of the state which was changed: refused if another one is in its place. "
        "0: nothing was saved; null: whatever is there.",
    )
    anyway: bool = Field(default=False, description="Also with parts that do not start.")


class ModelsBody(Body):
    """A server of language models."""

    base_url: Annotated[str, Field(max_length=2_000, pattern=PRINTABLE)] = Field(
        description="Empty: OpenAI's own."
    )
    api_key: Annotated[str, Field(max_length=2_000, pattern=PRINTABLE)] = Field(
        default="", description="`***`: the one that is known for this address."
    )


class TryBody(Body):
    """A part of settings that are not saved."""

    part: Annotated[str, Field(pattern=_PART)]
    content: dict[str, Any]


class InstallBody(Body):
    """Choices, each with its kind."""

    choices: Annotated[list[str], Field(min_length=1, max_length=10)] = Field(
        examples=[["asr.moonshine", "tts.joe"]]
    )


@contextmanager
def problems() -> Iterator[None]:
    """Turn what is raised in the body into problems."""
    try:
        yield
    except Mistaken as error:
        mistakes = [{"path": path, "message": message} for path, message in error.mistakes]
        raise Problem(422, str(error), mistakes=mistakes, reason=error.reason) from None
    except Unusable as error:
        raise Problem(422, str(error), reason=error.reason) from None
    except NotNow as error:
        raise Problem(409, str(error)) from None


async def show_assistant(service: Service) -> AssistantState:
    """Show the settings that are changed in the browser, and those in force, without secrets."""
    return await service.ports.assistant.show()


async def save_assistant(service: Service, who: Who, body: SaveBody) -> AssistantState:
    """Save and apply settings, in all processes from the next turn of each device on.

    `***` keeps a secret that is stored for the same address. A mistake, or a provider that cannot
    be made, refuses all of it; `mistakes` lists paths and messages. Providers that are not in use
    are started first, for up to a minute: where one fails, `reason` is `not_started`.
    """
    with problems():
        sections = await service.ports.assistant.save(
            body.content, body.changed_at, anyway=body.anyway
        )
    await _note(service, who, "settings saved", sections=sections)
    return await service.ports.assistant.show()


async def undo_assistant(service: Service, who: Who) -> AssistantState:
    """Go back to what was saved before; once."""
    with problems():
        sections = await service.ports.assistant.undo()
    await _note(service, who, "settings undone", sections=sections)
    return await service.ports.assistant.show()


async def list_choices(service: Service, language: Language = "") -> Choices:
    """List what the guide can offer: recognisers, voices, services of language models."""
    return await service.ports.assistant.choices(language)


async def list_models(service: Service, body: ModelsBody) -> Models:
    """Ask a server for its models, which shows whether it takes the key."""
    with problems():
        return await service.ports.assistant.models(body.base_url, body.api_key)


async def try_part(service: Service, body: TryBody) -> PartTrial:
    """Use a part once with settings that are not saved; services are really asked.

    Takes up to 20 seconds, and a minute more where a model has to be loaded. One at a time.
    """
    with problems():
        return await service.ports.assistant.try_part(body.part, body.content)


async def install(service: Service, who: Who, body: InstallBody) -> Installation:
    """Begin to install recognisers and voices: their packages, and their models. One at a time."""
    with problems():
        found = await service.ports.assistant.install(body.choices)
    await _note(service, who, "installation begun", names=found.names)
    return found


async def show_installation(service: Service) -> Installation:
    """Show how the last installation is."""
    return await service.ports.assistant.installation()


async def _note(service: ApiService, who: Principal, action: str, **names: Sequence[str]) -> None:
    async def add(database: Database) -> None:
        async with database.transaction() as transaction:
            audit = AuditTable(transaction)
            await audit.add(now_ms(), who.actor, action, "assistant", **names)

    await service.change(add)


def make_routes() -> Routes:
    """Return the routes."""
    routes, admin = Routes("assistant"), SCOPED[Scope.ADMIN]
    routes.add("GET", "/assistant", show_assistant, admin)
    routes.add("PUT", "/assistant", save_assistant, admin, errors=(409,))
    routes.add("POST", "/assistant/undo", undo_assistant, admin, errors=(409,))
    routes.add("GET", "/assistant/choices", list_choices, admin)
    routes.add("POST", "/assistant/models", list_models, admin, errors=(409,))
    routes.add("POST", "/assistant/try", try_part, admin, errors=(409,))
    routes.add("POST", "/assistant/install", install, admin, status=202, errors=(409,))
    routes.add("GET", "/assistant/install", show_installation, admin)
    return routes
