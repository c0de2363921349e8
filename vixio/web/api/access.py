"""Who calls, and whether a route is for them. Every route names one of these rules."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final, cast

from fastapi import Depends
from starlette.requests import Request

from vixio.transports.admission.identity import Identity
from vixio.web.api.keys import Keys, TokenKind
from vixio.web.api.problems import Problem, too_many, unauthorized
from vixio.web.api.scopes import Scope
from vixio.web.api.service import ApiService


class PrincipalKind(StrEnum):
    """What kind of token the caller has."""

    PERSONAL = "personal"
    SESSION = "session"
    DEVICE = "device"
    """A device's own, which opens only its own things."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The caller of a request."""

    kind: PrincipalKind
    name: str
    scopes: frozenset[Scope] = frozenset()
    token_id: str = ""
    device_id: str = ""

    @property
    def actor(self) -> str:
        """How the audit trail names the caller."""
        return f"api:{self.name}"

    def may(self, scope: Scope) -> bool:
        """Whether its token has a scope."""
        return scope in self.scopes or Scope.ADMIN in self.scopes


def service_of(request: Request) -> ApiService:
    """Return what all routes share."""
    return cast("ApiService", request.app.state.service)


Service = Annotated[ApiService, Depends(service_of)]


async def current(request: Request, service: Service) -> Principal:
    """Return the caller. Raises Problem: there is no valid token, or too many requests."""
    headers = request.headers
    scheme, _, text = headers.get("authorization", "").strip().partition(" ")
    text = text.strip()
    if scheme.lower() != "bearer" or not text:
        raise unauthorized()
    if "device-id" in headers:
        identity = Identity.stated(
            headers["device-id"], headers.get("client-id", "").strip(), f"Bearer {text}"
        )
        if not identity.well_formed or not service.ports.registry.recognises(identity):
            raise unauthorized()
        device_id = identity.device_id
        who = Principal(kind=PrincipalKind.DEVICE, name=device_id, device_id=device_id)
    else:
        key = await service.use(lambda database: Keys(database).holder(text))
        if key is None:
            raise unauthorized()
        kind = PrincipalKind.SESSION if key.kind is TokenKind.SESSION else PrincipalKind.PERSONAL
        who = Principal(kind=kind, name=key.name, scopes=key.scopes, token_id=key.id)
    if wait := service.take(who.token_id or who.device_id):
        raise too_many("too many requests with this token, try again later", wait)
    return who


Who = Annotated[Principal, Depends(current)]

Rule = Callable[..., Coroutine[Any, Any, None]]


async def public() -> None:
    """Everybody, without a token."""


async def any_token(who: Who) -> None:
    """Whoever has a valid personal token or login."""
    if who.kind is PrincipalKind.DEVICE:
        raise Problem(403, "this is not for devices")


async def own_device(who: Who) -> None:
    """A device, about itself."""
    if who.kind is not PrincipalKind.DEVICE:
        raise Problem(403, "this is for devices: send the device's token, Device-Id and Client-Id")


def _needs(scope: Scope) -> Rule:
    async def check(who: Who) -> None:
        if not who.may(scope):
            raise Problem(403, f"the token does not have the scope {scope}")

    return check


SCOPED: Final = {scope: _needs(scope) for scope in Scope}
"""The rule of each scope."""

RULES: Final[dict[Rule, str]] = {
    public: "public",
    any_token: "any token",
    own_device: "device",
    **{rule: str(scope) for scope, rule in SCOPED.items()},
}
"""What the document says of each rule."""
