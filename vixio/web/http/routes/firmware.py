"""The route from which devices download firmware.

The firmware sends a bare GET and needs a 200 with ``Content-Length``; it knows neither ranges nor
encodings (ota.cc, Upgrade). A download that breaks off is begun anew at the device's next start.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from io import BufferedReader
from typing import TYPE_CHECKING, Any, Final

from vixio.core.errors import VixioError
from vixio.core.metrics import Counters
from vixio.core.tasks import cancel_and_wait
from vixio.web.http.firmware_link import FIRMWARE_PATH, BadLink, FirmwareLinks, FirmwareTicket

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import Receive, Scope, Send

_log = logging.getLogger(__name__)

MAX_AT_ONCE: Final = 32
"""Downloads of one process at a time. Each holds two pieces in memory, in all 4 MB."""

PIECE_BYTES: Final = 64 * 1024

_STEPS: Final = 10
"""How often the progress of a download is reported, at most."""


BUSY: Final = "the server has too many downloads at once, try again later"
"""The reason of a refusal that has nothing to do with device and image."""


class DownloadStep(StrEnum):
    """What is reported of a download."""

    STARTED = "started"
    PROGRESS = "progress"
    FINISHED = "finished"
    """All bytes were sent. Whether the device takes the image shows at its next start."""
    ABORTED = "aborted"
    """The connection ended before."""
    REFUSED = "refused"
    """It did not begin; the reason says why."""


Report = Callable[[FirmwareTicket, DownloadStep, int, str], None]
"""Called with the ticket, the step, the bytes sent so far, and the reason of a refusal."""


def _nothing(ticket: FirmwareTicket, step: DownloadStep, sent: int, reason: str) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class FirmwareSettings:
    """Settings of the route.

    ``open_image`` opens the image of a board and a version; it is called in a thread and raises
    VixioError if there is none.
    """

    links: FirmwareLinks
    open_image: Callable[[str, str], BufferedReader]
    report: Report = _nothing
    max_at_once: int = MAX_AT_ONCE
    counters: Counters = field(default_factory=Counters)


class FirmwareDownloads:
    """Sends images to devices that have a link."""

    def __init__(self, settings: FirmwareSettings) -> None:
        self._settings = settings
        self._running = 0

    @property
    def busy(self) -> bool:
        """Whether no further download can begin now."""
        return self._running >= self._settings.max_at_once

    def routes(self) -> Sequence[Route]:
        """Return the route, of all paths below FIRMWARE_PATH."""
        from starlette.routing import Route

        return [Route(FIRMWARE_PATH + "{path:path}", self.answer, methods=["GET"])]

    async def answer(self, request: Request) -> Response:
        """Return the image, or one line that says why not."""
        settings = self._settings
        settings.counters.add("firmware.requests")
        try:
            ticket = settings.links.check(request.path_params["path"])
        except BadLink as error:
            return self._refuse(410 if error.expired else 403, str(error))
        if request.method == "HEAD":
            return self._refuse(405, "use GET")
        if self.busy:
            return self._refuse(503, BUSY, ticket)
        self._running += 1
        download = _Download(ticket, settings, self._ended)
        try:
            return await download.response()
        except VixioError as error:
            _log.warning("firmware cannot be read", extra={"reason": str(error)})
            return self._refuse(404, "the image is not there any more", ticket)
        except OSError as error:
            _log.warning("firmware cannot be read", extra={"reason": error.strerror or str(error)})
            return self._refuse(404, "the image cannot be read", ticket)
        except _Replaced:
            return self._refuse(410, "the image was replaced by another one", ticket)

    def _refuse(self, status: int, reason: str, ticket: FirmwareTicket | None = None) -> Response:
        from starlette.responses import JSONResponse

        self._settings.counters.add(f"firmware.refused.{status}")
        if ticket is not None:
            _log.info("firmware download refused", extra=_fields(ticket) | {"reason": reason})
            self._settings.report(ticket, DownloadStep.REFUSED, 0, reason)
        headers = {"Retry-After": "60"} if status == 503 else None
        return JSONResponse({"error": reason}, status, headers)

    def _ended(self) -> None:
        self._running -= 1


class _Replaced(Exception):
    """The image is another one than that of the link."""


class _Download:
    """One download. ``ended`` is called once, when it is over or was never begun."""

    def __init__(
        self, ticket: FirmwareTicket, settings: FirmwareSettings, ended: Callable[[], None]
    ) -> None:
        self._ticket = ticket
        self._settings = settings
        self._ended = ended
        self._size = 0
        self._sent = 0

    async def response(self) -> Response:
        """Return the response that sends the image. Raises VixioError, OSError or _Replaced."""
        from starlette.responses import Response

        download = self
        try:
            file = await asyncio.to_thread(self._open)
        except BaseException:
            self._ended()
            raise

        class Streamed(Response):
            """Sends the image in pieces, each read when the one before is on its way."""

            async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
                try:
                    await download._stream(file, self.raw_headers, receive, send)
                finally:
                    file.close()
                    download._ended()

        headers = {"Content-Length": str(self._size), "Cache-Control": "no-store"}
        return Streamed(headers=headers, media_type="application/octet-stream")

    def _open(self) -> BufferedReader:
        """Open the image of the ticket, and no other. Blocks."""
        file = self._settings.open_image(self._ticket.board, self._ticket.version)
        try:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            if not hmac.compare_digest(digest, self._ticket.sha256):
                raise _Replaced
            self._size = file.tell()
            file.seek(0)
        except BaseException:
            file.close()
            raise
        return file

    async def _stream(
        self, file: BufferedReader, headers: list[tuple[bytes, bytes]], receive: Receive, send: Send
    ) -> None:
        fields = _fields(self._ticket) | {"bytes": self._size}
        _log.info("firmware download started", extra=fields)
        self._report(DownloadStep.STARTED)
        gone = asyncio.create_task(_disconnected(receive))
        finished = False
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            finished = await self._pieces(file, gone, send)
        finally:
            await cancel_and_wait(gone)
            if finished:
                self._settings.counters.add("firmware.finished")
                _log.info("firmware download finished", extra=fields)
                self._report(DownloadStep.FINISHED)
            else:
                self._settings.counters.add("firmware.aborted")
                _log.info("firmware download broke off", extra=fields | {"sent": self._sent})
                self._report(DownloadStep.ABORTED)

    async def _pieces(self, file: BufferedReader, gone: asyncio.Task[None], send: Send) -> bool:
        """Send the image; whether the device stayed to the end."""
        told, ticket = 0, self._ticket
        while self._sent < self._size:
            piece = await asyncio.to_thread(file.read, min(PIECE_BYTES, self._size - self._sent))
            if gone.done():
                return False
            if not piece:
                _log.warning("firmware became shorter while it was sent", extra=_fields(ticket))
                return False
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            self._sent += len(piece)
            step = self._sent * _STEPS // self._size
            if told < step < _STEPS:
                told = step
                self._report(DownloadStep.PROGRESS)
        await asyncio.sleep(0)  # a connection that ended during the last piece is known then
        if gone.done():
            return False
        await send({"type": "http.response.body", "body": b"", "more_body": False})
        return True

    def _report(self, step: DownloadStep) -> None:
        self._settings.report(self._ticket, step, self._sent, "")


async def _disconnected(receive: Receive) -> None:
    """Return when the connection is over."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _fields(ticket: FirmwareTicket) -> dict[str, Any]:
    return {"device": ticket.device_id, "board": ticket.board, "firmware": ticket.version}
