"""Where a device posts the picture of its screen: outside ``/api``, since it has no token."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from vixio.core.metrics import Counters
from vixio.web.api.screens import MAX_BYTES, PATH, Screens
from vixio.web.http.images import media_type
from vixio.web.http.upload import BadUpload, Upload

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

JPEG: Final = "image/jpeg"

REST_BYTES: Final = 65_536
REST_S: Final = 1.0
"""What is still read of an upload that is refused."""

_log = logging.getLogger(__name__)


class ScreenUpload:
    """Takes one picture per request, for which somebody waits."""

    def __init__(self, screens: Screens, counters: Counters) -> None:
        self._screens = screens
        self._counters = counters

    def route(self) -> Route:
        """Return the route."""
        from starlette.routing import Route

        return Route(f"{PATH}{{ticket}}", self.take, methods=["POST"])

    async def take(self, request: Request) -> Response:
        """Take a picture."""
        from starlette.requests import ClientDisconnect
        from starlette.responses import PlainTextResponse

        ticket = request.path_params["ticket"]
        if not self._screens.admit(ticket):
            return self._refused(401, "ticket", "nobody waits for this screen")
        pieces = request.stream()
        try:
            upload = Upload(request.headers.get("content-type", ""), MAX_BYTES)
            async for piece in pieces:
                upload.feed(piece)
            upload.finish()
        except BadUpload as error:
            await _read_rest(pieces)
            return self._refused(error.status, "bad_upload", str(error))
        except ClientDisconnect:
            return PlainTextResponse("", 400)  # the client is gone, nothing is sent
        image = bytes(upload.photo)
        if media_type(image) != JPEG:
            return self._refused(415, "no_image", "not a complete JPEG image")
        self._counters.add("api.screens")
        self._screens.deliver(ticket, image)
        return PlainTextResponse("thank you\n")

    def _refused(self, status: int, reason: str, why: str) -> Response:
        from starlette.responses import PlainTextResponse

        self._counters.add(f"api.screens.refused.{reason}")
        _log.debug("screen refused", extra={"reason": reason})
        return PlainTextResponse(f"{why}\n", status, {"Connection": "close"})


async def _read_rest(pieces: AsyncIterator[bytes]) -> None:
    """Read what a client still sends: one that is cut off while it writes finds no answer."""
    from starlette.requests import ClientDisconnect

    left = REST_BYTES
    with suppress(ClientDisconnect, TimeoutError):
        async with asyncio.timeout(REST_S):
            async for piece in pieces:
                left -= len(piece)
                if left < 0:
                    return
