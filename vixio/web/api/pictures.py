"""Pictures for the screens of devices, which fetch them from a URL (mcp_server.cc,
self.screen.preview_image).

They do so without any credentials, so each URL has a signed ticket, for one picture and a short
time. The device may reach another process than the one that has the picture, so all of them get it.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from vixio.core.cluster import Broadcast
from vixio.core.tools.types import JsonObject
from vixio.core.waiters import Waiters
from vixio.core.wall_clock import now_s
from vixio.transports.admission.auth import TokenAuthenticator, TokenCheck

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

PATH: Final = "/xiaozhi/picture/"
"""The ticket follows."""

PNG: Final = "image/png"
"""The one format that the firmware is built to read (CONFIG_LV_USE_LODEPNG in its
sdkconfig.defaults)."""

MAX_BYTES: Final = 512 * 1024
MAX_PIXELS: Final = 800 * 480
"""Of the largest screens. The device holds the file, and four bytes a pixel beside it."""

LIFETIME_S: Final = 300.0
MAX_KEPT: Final = 16
ARRIVAL_S: Final = 5.0
"""In which a picture has come to this process, of which there is a valid ticket."""

TOPIC: Final = "api.picture"
_SIGNED_FOR: Final = "picture"


class Pictures:
    """``secret``: that of all processes of the server; empty: there is only this one. ``clock``:
    seconds since 1970."""

    def __init__(
        self, broadcast: Broadcast, secret: str, clock: Callable[[], float] = now_s
    ) -> None:
        self._tokens = TokenAuthenticator(secret or secrets.token_hex(32), LIFETIME_S, clock=clock)
        self._broadcast = broadcast
        self._broadcast.on_message(TOPIC, self._received)
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._arrived = Waiters()

    def offer(self, image: bytes) -> str:
        """Keep a picture for a while, in all processes; return the path at which it is."""
        name = secrets.token_hex(8)
        self._keep(name, image)
        self._broadcast.send(TOPIC, {"name": name, "image": base64.b64encode(image).decode()})
        return f"{PATH}{name}.{self._tokens.issue(_SIGNED_FOR, name)}"

    def route(self) -> Route:
        """Return the route at which devices fetch: outside ``/api``, since it needs no token."""
        from starlette.routing import Route

        return Route(f"{PATH}{{ticket}}", self.answer, methods=["GET"])

    async def answer(self, request: Request) -> Response:
        """Return a picture. The firmware reads as much as Content-Length says."""
        from starlette.responses import PlainTextResponse, Response

        name, _, signed = request.path_params["ticket"].partition(".")
        valid = self._tokens.verify(signed, _SIGNED_FOR, name) is TokenCheck.VALID
        with suppress(TimeoutError):
            async with asyncio.timeout(ARRIVAL_S):
                while valid and name not in self._kept:
                    await self._arrived.wait()
        image = self._kept.get(name) if valid else None
        if image is None:
            return PlainTextResponse("there is no such picture\n", 404)
        return Response(image, media_type=PNG, headers={"Cache-Control": "no-store"})

    def _keep(self, name: str, image: bytes) -> None:
        self._kept[name] = image
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        asyncio.get_running_loop().call_later(LIFETIME_S, self._kept.pop, name, None)
        self._arrived.wake()

    def _received(self, body: JsonObject) -> None:
        match body:
            case {"name": str(name), "image": str(text)}:
                self._keep(name, base64.b64decode(text))
