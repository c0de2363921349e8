"""The context of a request in the A2A library: its caller, and its message as it was read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from a2a.auth.user import User
from a2a.extensions.common import HTTP_EXTENSION_HEADER, get_requested_extensions
from a2a.server.context import ServerCallContext
from a2a.server.routes.common import ServerCallContextBuilder
from starlette.requests import Request

from vixio.web.a2a.callers import Scope
from vixio.web.a2a.contexts import Context
from vixio.web.a2a.incoming import Incoming

_STATE: Final = "vixio"
_KEPT: Final = frozenset({"a2a-version", "a2a-extensions", "x-a2a-extensions"})


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request that passed the checks. ``context`` and ``incoming``: of one with a message."""

    scope: Scope
    context: Context | None = None
    incoming: Incoming = field(default_factory=Incoming)


class Caller(User):
    """The user of a request, for the A2A library."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    @property
    def is_authenticated(self) -> bool:
        """Always: others are refused before."""
        return True

    @property
    def user_name(self) -> str:
        """The scope: each has its own tasks."""
        return self._scope.name


class CallContextBuilder(ServerCallContextBuilder):
    """Makes the library's context of a request; tokens are left out of it."""

    def build(self, request: Request) -> ServerCallContext:
        """Return the context of an admitted request."""
        admitted: Admitted = request.scope[_STATE]
        headers = {name: value for name, value in request.headers.items() if name in _KEPT}
        return ServerCallContext(
            user=Caller(admitted.scope),
            state={_STATE: admitted, "headers": headers},
            requested_extensions=get_requested_extensions(
                request.headers.getlist(HTTP_EXTENSION_HEADER)
            ),
        )


def attach(scope: dict[str, Any], admitted: Admitted) -> dict[str, Any]:
    """Return an ASGI scope that carries what was admitted."""
    return {**scope, _STATE: admitted}


def admitted_of(context: ServerCallContext) -> Admitted:
    """Return what :func:`attach` put into the request of ``context``."""
    admitted: Admitted = context.state[_STATE]
    return admitted


def scope_of(context: ServerCallContext) -> Scope:
    """Return whose request it is."""
    return admitted_of(context).scope
