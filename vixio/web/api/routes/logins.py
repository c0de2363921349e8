"""Logins with the password: where they are, their end, and another password."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated

from pydantic import BaseModel, Field
from starlette.requests import Request

from vixio.web.api.access import SCOPED, Service, Who
from vixio.web.api.fields import PRINTABLE, Body, TokenPath
from vixio.web.api.first_login import forget_first_password
from vixio.web.api.keys import Keys
from vixio.web.api.password_check import is_right
from vixio.web.api.passwords import MAX_CHARS, MIN_CHARS, hash_password
from vixio.web.api.problems import Problem
from vixio.web.api.routing import Routes
from vixio.web.api.scopes import Scope

_log = logging.getLogger(__name__)


class LoginState(BaseModel):
    """A login that is not over. Times are milliseconds since 1970."""

    id: str
    created_at: int
    used_at: int | None = Field(description="Last use, to the minute.")
    expires_at: int
    address: str = Field(description="From which it was made; empty: not known.")
    user_agent: str = Field(description="At most 100 characters of what the browser says it is.")
    current: bool = Field(description="Whether this request is made with it.")


class LoginList(BaseModel):
    """The logins, the newest first."""

    logins: list[LoginState]


class PasswordBody(Body):
    """The password in force, and the one to come."""

    old: Annotated[str, Field(min_length=1, max_length=MAX_CHARS)]
    new: Annotated[str, Field(min_length=MIN_CHARS, max_length=MAX_CHARS, pattern=PRINTABLE)]


async def list_logins(service: Service, who: Who) -> LoginList:
    """List the logins that are not over, the newest first."""
    found = await service.use(lambda database: Keys(database).sessions())
    return LoginList(
        logins=[
            LoginState(
                id=each.id,
                created_at=each.created_at,
                used_at=each.used_at,
                expires_at=each.expires_at or 0,
                address=each.address,
                user_agent=each.user_agent,
                current=each.id == who.token_id,
            )
            for each in found
        ]
    )


async def end_login(service: Service, who: Who, token: TokenPath) -> None:
    """End a login at once, wherever it is."""
    await service.change(lambda database: Keys(database).end_session(token, who.actor))


async def change_password(service: Service, who: Who, request: Request, body: PasswordBody) -> None:
    """Set another password, and end all logins but the caller's. Attempts are limited."""
    if not await is_right(service, request, body.old):
        raise Problem(403, "the old password is wrong; `vixio api-password` needs none")
    hashed = await _hashed(service.hashing, body.new)
    await service.change(
        lambda database: Keys(database).set_password(hashed, who.actor, keep=who.token_id)
    )
    try:
        await asyncio.to_thread(forget_first_password, service.ports.folder)
    except OSError as error:
        _log.warning(
            "the file of the first password was not removed", extra={"reason": error.strerror}
        )


async def _hashed(places: asyncio.Semaphore, password: str) -> str:
    async with places:
        return await hash_password(password)


def make_routes() -> Routes:
    """Return the routes."""
    routes, admin = Routes("access"), SCOPED[Scope.ADMIN]
    routes.add("GET", "/logins", list_logins, admin)
    routes.add("DELETE", "/logins/{token}", end_login, admin, status=204, errors=(404,))
    routes.add("POST", "/password", change_password, admin, status=204, errors=(409,))
    return routes
