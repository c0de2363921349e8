"""The seam to what else is served on the HTTP port: WebSockets of other parts of the server.

The HTTP server reads a request that asks for a WebSocket, and hands its connection over to the
protocol of its path, which answers the request. Nothing of it is the HTTP server's after that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from vixio.transports.admission.refusal import Refusal

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

NO_UPGRADE: Final = (
    "This is a WebSocket, not a page. Where a proxy stands in front, "
    "it has to pass on the headers Upgrade and Connection.\n"
)


MakeProtocol = Callable[[bytes], asyncio.BufferedProtocol | Refusal]
"""Makes the protocol that takes a connection over, or says why it takes none now.

It gets the request, from its first line to the empty one, and answers it once it is connected."""


class Upgrades:
    """Which paths of the HTTP port are WebSockets; a slash at a path's end does not matter."""

    def __init__(self, paths: Mapping[str, MakeProtocol]) -> None:
        self._paths = {path.rstrip("/"): make for path, make in paths.items()}
        self._nothing = Refusal(
            HTTPStatus.NOT_FOUND, "upgrade", f"No WebSocket is here, but at {_listed(paths)}\n"
        )

    def make(self, path: str, request: bytes) -> asyncio.BufferedProtocol | Refusal:
        """Return the protocol for ``request`` to ``path``, without its query."""
        make = self._paths.get(path.rstrip("/"))
        return self._nothing if make is None else make(request)

    def routes(self) -> list[Route]:
        """Return routes that answer plain requests to these paths with 426."""
        from starlette.routing import Route

        return [
            Route(path + end, _upgrade_required, include_in_schema=False)
            for path in self._paths
            for end in ("", "/")
        ]


async def _upgrade_required(request: Request) -> Response:
    from starlette.responses import PlainTextResponse

    return PlainTextResponse(NO_UPGRADE, 426, {"Upgrade": "websocket"})


def _listed(paths: Iterable[str]) -> str:
    return " and ".join(paths)


def request_bytes(method: bytes, target: bytes, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the head of a request as it came, but for the case and the spaces of its headers."""
    head = [method, b" ", target, b" HTTP/1.1\r\n"]
    for name, value in headers:
        head += [name, b": ", value, b"\r\n"]
    return b"".join([*head, b"\r\n"])
