"""The login, personal tokens, and the current caller."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field
from starlette.requests import Request

from vixio.core.wall_clock import now_ms
from vixio.transports.admission.addresses import address_key, parse_address
from vixio.web.api.access import SCOPED, Service, Who, any_token, public
from vixio.web.api.fields import Body, Name, TokenPath
from vixio.web.api.first_login import FILE_NAME
from vixio.web.api.front import client
from vixio.web.api.keys import KeyRecord, Keys
from vixio.web.api.password_check import is_right
from vixio.web.api.passwords import MAX_CHARS
from vixio.web.api.problems import Problem, too_many
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope, read_scopes

ScopeName = Literal[
    "devices:read",
    "devices:write",
    "control",
    "user-tools",
    "conversations:read",
    "conversations:write",
    "profiles",
    "reminders",
    "firmware",
    "admin",
]  # the values of Scope: a strict body takes no enumeration


class Token(BaseModel):
    """A personal token. Times are milliseconds since 1970."""

    id: str
    name: str
    scopes: list[str]
    state: str = Field(description="valid, expired or revoked")
    created_at: int
    created_by: str
    expires_at: int | None = Field(description="null: never")
    used_at: int | None = Field(description="Last use, to the minute.")
    revoked_at: int | None


class NewToken(Token):
    """A token that was just made."""

    token: str = Field(description="Shown this once.")


class TokenList(BaseModel):
    """The personal tokens, the newest first."""

    tokens: list[Token]


class TokenBody(Body):
    """A token to make."""

    name: Annotated[Name, Field(min_length=1)]
    scopes: Annotated[list[ScopeName], Field(min_length=1, max_length=10)]
    days: Annotated[int, Field(ge=1, le=3_650)] | None = Field(
        default=None, description="How long it is valid; null: until it is revoked."
    )


class LoginBody(Body):
    """The password of the user ``admin``."""

    password: Annotated[str, Field(min_length=1, max_length=MAX_CHARS)]


class LinkBody(Body):
    """The text of a link: the end of the address that the server shows at its start."""

    link: Annotated[str, Field(min_length=1, max_length=MAX_CHARS)]


class LoginHelp(BaseModel):
    """Where the password is."""

    password_file: str | None = Field(
        description="The file of the password that was made at the first start. null: another one "
        "is in force, or the request came from another computer."
    )


class Login(BaseModel):
    """A token for everything, for 12 hours."""

    token: str
    expires_at: int


class Caller(BaseModel):
    """Who calls."""

    name: str
    kind: str = Field(description="personal or session")
    scopes: list[str]


async def help_to_log_in(service: Service, request: Request) -> LoginHelp:
    """Say where the password is, to who asks on the server's own machine."""
    file = service.ports.folder / FILE_NAME
    peer = parse_address(request.client.host if request.client else "")
    # A proxy on this machine sends everybody's requests from here.
    proxied = any(name in request.headers for name in ("forwarded", "x-forwarded-for"))
    here = peer is not None and peer.is_loopback and not proxied
    there = here and await asyncio.to_thread(file.exists)
    return LoginHelp(password_file=str(file) if there else None)


async def log_in(service: Service, request: Request, body: LoginBody) -> Login:
    """Exchange the password for a token. Attempts are limited."""
    if not await is_right(service, request, body.password):
        raise Problem(
            401,
            "the password is wrong; `vixio api-password` sets another one",
            headers={"WWW-Authenticate": "Bearer"},
        )
    address = str(client(request, service.ports) or "")
    agent = request.headers.get("user-agent", "")
    record, text = await service.change(
        lambda database: Keys(database).open_session(address, agent)
    )
    return Login(token=text, expires_at=record.expires_at or 0)


async def follow_link(service: Service, request: Request, body: LinkBody) -> Login:
    """Exchange a link, which is void then, for a token. Attempts are limited."""
    address = client(request, service.ports)
    if wait := service.take_login(address_key(address) if address else "unknown"):
        raise too_many("too many logins, try again later", wait)
    agent = request.headers.get("user-agent", "")
    made = await service.change(
        lambda database: Keys(database).follow_link(body.link, str(address or ""), agent)
    )
    if made is None:
        service.ports.counters.add("api.wrong_link")
        raise Problem(
            401,
            "this link was used, or is over; `vixio console` makes another one",
            headers={"WWW-Authenticate": "Bearer"},
        )
    record, text = made
    return Login(token=text, expires_at=record.expires_at or 0)


async def log_out(service: Service, who: Who) -> None:
    """Make the caller's own token void, of a login or a personal one."""
    await service.change(lambda database: Keys(database).revoke(who.token_id, who.actor))


async def who_am_i(who: Who) -> Caller:
    """Show what the caller's token permits."""
    return Caller(name=who.name, kind=who.kind, scopes=sorted(who.scopes))


async def list_tokens(service: Service) -> TokenList:
    """List the personal tokens."""
    found = await service.use(lambda database: Keys(database).all())
    return TokenList(tokens=[Token(**_values(each)) for each in found])


async def create_token(service: Service, who: Who, body: TokenBody) -> NewToken:
    """Make a personal token."""
    scopes = read_scopes(body.scopes)
    record, text = await service.change(
        lambda database: Keys(database).create(body.name, scopes, who.actor, days=body.days)
    )
    return NewToken(**_values(record), token=text)


async def revoke_token(service: Service, who: Who, token: TokenPath) -> None:
    """Make a personal token void at once."""
    await service.change(lambda database: Keys(database).revoke(token, who.actor))


def _values(record: KeyRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "name": record.name,
        "scopes": sorted(record.scopes),
        "state": record.state(now_ms()),
        "created_at": record.created_at,
        "created_by": record.created_by,
        "expires_at": record.expires_at,
        "used_at": record.used_at,
        "revoked_at": record.revoked_at,
    }


def make_routes() -> Routes:
    """Return the routes."""
    routes, admin = Routes("access"), SCOPED[Scope.ADMIN]
    routes.add("GET", "/login", help_to_log_in, public)
    routes.add("POST", "/login", log_in, public, errors=(401, 409))
    routes.add("POST", "/login/link", follow_link, public, errors=(401, 409))
    routes.add("POST", "/logout", log_out, any_token, status=204, errors=(404, 409))
    routes.add("GET", "/me", who_am_i, any_token)
    routes.add("GET", "/tokens", list_tokens, admin)
    routes.add("POST", "/tokens", create_token, admin, status=201, errors=(409,))
    routes.add("DELETE", "/tokens/{token}", revoke_token, admin, status=204, errors=(404, 409))
    return routes
