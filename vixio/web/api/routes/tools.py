"""Tools that people add: pasted as JSON, or by their address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from fastapi import Path, Query
from pydantic import BaseModel, Field

from vixio.data.devices.profile_repository import NAME_PATTERN
from vixio.web.api.access import SCOPED, Service, Who
from vixio.web.api.added_tools import Given, PasteRefused, SourceAdded, SourceTried
from vixio.web.api.assistant_settings import NotNow
from vixio.web.api.fields import PRINTABLE, Body
from vixio.web.api.problems import Problem
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope

_Profile = Annotated[str, Field(max_length=64, pattern=f"^({NAME_PATTERN})?$")]

SourcePath = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]

_Header = Annotated[str, Field(max_length=4_000, pattern=PRINTABLE)]

_EXAMPLE = '{"mcpServers": {"time": {"url": "https://mcp.example.org/mcp"}}}'


class PasteBody(Body):
    """What was pasted."""

    text: Annotated[str, Field(min_length=1, max_length=64 * 1024)] = Field(
        description="JSON as desktop programs take it, or an address: of a server of MCP, of an "
        "OpenAPI document, of an agent's card.",
        examples=[_EXAMPLE],
    )
    headers: Annotated[dict[str, _Header], Field(max_length=16)] = Field(
        default_factory=dict, description="For an address."
    )
    profile: _Profile = Field(default="", description="Empty: for all devices.")


class TryPasteBody(PasteBody):
    """A paste to be tried."""

    tool: Annotated[str, Field(max_length=256, pattern=PRINTABLE)] = Field(
        default="", description="To be called; empty: one that does no harm, if there is one."
    )
    arguments: Annotated[str, Field(max_length=4_000)] = Field(
        default="{}", description="Of that tool, as JSON."
    )


class AddedList(BaseModel):
    """What was added."""

    sources: list[SourceAdded]
    programs: bool = Field(description="Whether programs may be added here (`api.programs`).")


class TriedList(BaseModel):
    """What became of the sources of a paste."""

    sources: list[SourceTried]


@contextmanager
def _problems() -> Iterator[None]:
    try:
        yield
    except PasteRefused as error:
        mistakes = [each.model_dump() for each in error.mistakes]
        raise Problem(422, str(error), mistakes=mistakes) from None
    except NotNow as error:
        raise Problem(409, str(error)) from None


async def list_added(service: Service) -> AddedList:
    """List the tools that were added, as they are in the process that answers."""
    sources, programs = await service.ports.tools.listed()
    return AddedList(sources=sources, programs=programs)


async def try_tools(service: Service, body: TryPasteBody) -> TriedList:
    """Start each source of a paste once, list its tools and call one; nothing is saved.

    Takes up to 90 seconds; one at a time. `mistakes` of a 422 have a message, line and column.
    """
    given = Given(body.text, body.headers, body.profile, body.tool, body.arguments)
    with _problems():
        return TriedList(sources=await service.ports.tools.try_out(given))


async def add_tools(service: Service, who: Who, body: PasteBody) -> AddedList:
    """Save the sources of a paste; those of the same names are replaced.

    Running conversations have their tools at once, in all processes. What looks like a key is kept
    apart and never shown. `mistakes` as for a trial.
    """
    with _problems():
        await service.ports.tools.add(Given(body.text, body.headers, body.profile), who.actor)
    return await list_added(service)


async def remove_tools(
    service: Service,
    who: Who,
    source: SourcePath,
    profile: Annotated[str, Query(max_length=64, pattern=f"^({NAME_PATTERN})?$")] = "",
) -> None:
    """Remove a source from a profile; empty: one that is for all devices."""
    with _problems():
        await service.ports.tools.remove(source, profile, who.actor)


def make_routes() -> Routes:
    """Return the routes."""
    routes, admin = Routes("tools"), SCOPED[Scope.ADMIN]
    routes.add("GET", "/tools", list_added, admin)
    routes.add("POST", "/tools", add_tools, admin, errors=(404, 409))
    routes.add("POST", "/tools/try", try_tools, admin, errors=(409,))
    routes.add("DELETE", "/tools/{source}", remove_tools, admin, status=204, errors=(404, 409))
    return routes
