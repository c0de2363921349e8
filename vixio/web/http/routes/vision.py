"""The endpoint to which cameras post photos: authorisation, validation, answer.

The firmware gives the raw body of a 200 to the model as the tool's result, and of any other status
it says no more than "Failed to upload photo" (esp32_camera.cc, Explain). So what the service behind
it could not do comes as a 200 with one sentence that says so: the user should hear the reason.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING

from vixio.core.device import normalise_device_id
from vixio.core.errors import ProviderError, describe
from vixio.core.messages import LOADING
from vixio.core.metrics import Counters
from vixio.core.well_formed import well_formed
from vixio.transports.admission.auth import TokenCheck
from vixio.transports.admission.limits import KeyedBuckets
from vixio.web.http.images import media_type
from vixio.web.http.upload import BadUpload, Upload
from vixio.web.http.vision_offer import VISION_PATH, VisionOffer

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

_log = logging.getLogger(__name__)

MAX_AT_ONCE = 16
"""Photos that are held in memory at a time; with the default size at most 16 MB."""

MAX_ANSWER_CHARS = 4_000
"""The device takes the answer into its memory whole, and gives it back as a tool's result."""

STILL_LOADING = "the vision service is still starting; take the photo again in a moment"

DEFAULT_QUESTION = "What do you see?"

Explain = Callable[[bytes, str, str], Awaitable[str]]
"""Given an image, its media type and the question, returns what is seen. Raises ProviderError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionSettings:
    """Settings of the endpoint.

    ``is_live`` tells whether a session still runs, given its id and device. ``photos_per_device``:
    a minute; 0: no limit.
    """

    offer: VisionOffer
    explain: Explain
    is_live: Callable[[str, str], bool]
    max_photo_bytes: int = 1024 * 1024
    """The firmware's cameras make 20 to 200 KB; encoding a larger one would delay all devices."""
    photos_per_device: int = 20
    counters: Counters = field(default_factory=Counters)


class Refused(Exception):
    """Ends the request with a status and one line."""

    def __init__(self, status: int, reason: str, message: str, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.headers = {"Retry-After": str(math.ceil(retry_after))} if retry_after else {}


class VisionEndpoint:
    """Takes one photo per request and keeps nothing of it after the answer."""

    def __init__(self, settings: VisionSettings) -> None:
        self._settings = settings
        self._counters = settings.counters
        self._buckets = KeyedBuckets(settings.photos_per_device)
        self._at_once = 0

    def routes(self) -> Sequence[Route]:
        """Return the endpoint's route."""
        from starlette.routing import Route

        return [Route(VISION_PATH, self.answer, methods=["POST"])]

    async def answer(self, request: Request) -> Response:
        """Answer a request; raises only if the client is gone."""
        from starlette.requests import ClientDisconnect
        from starlette.responses import PlainTextResponse

        self._counters.add("vision.requests")
        try:
            self._identify(request)
            if self._at_once >= MAX_AT_ONCE:
                raise Refused(503, "busy", "too many photos at once, try again", 5.0)
            self._at_once += 1
            try:
                text = await self._look(await self._receive(request))
            finally:
                self._at_once -= 1
            return PlainTextResponse(text)
        except Refused as error:
            self._counters.add(f"vision.refused.{error.reason}")
            _log.debug("photo refused", extra={"reason": error.reason})
            headers = {**error.headers, "Connection": "close"}
            await self._discard(request)
            return PlainTextResponse(f"{error}\n", error.status, headers)
        except ClientDisconnect:
            self._counters.add("vision.hung_up")
            return PlainTextResponse("", 400)  # the client is gone, nothing is sent

    def _identify(self, request: Request) -> None:
        settings = self._settings
        device_id = normalise_device_id(request.headers.get("device-id", ""))
        scheme, _, token = request.headers.get("authorization", "").strip().rpartition(" ")
        session_id, verdict = settings.offer.session_of(
            token if scheme.strip().lower() in {"", "bearer"} else "", device_id
        )
        if verdict is not TokenCheck.VALID:
            raise Refused(401, f"token_{verdict}", "not authorized")
        if not settings.is_live(session_id, device_id):
            raise Refused(401, "token_over", "not authorized: the session is over")
        wait = self._buckets.take(device_id, monotonic())
        if wait:
            raise Refused(429, "too_many", "too many photos, try again later", wait)

    async def _receive(self, request: Request) -> Upload:
        try:
            upload = Upload(request.headers.get("content-type", ""), self._settings.max_photo_bytes)
            async for piece in request.stream():
                upload.feed(piece)
            upload.finish()
        except BadUpload as error:
            raise Refused(error.status, "bad_upload", str(error)) from None
        return upload

    async def _discard(self, request: Request) -> None:
        """Read the rest of a photo of usual size: a client that is cut off while it sends gets no
        answer, only a broken connection."""
        from starlette.requests import ClientDisconnect

        left = self._settings.max_photo_bytes
        try:
            async for piece in request.stream():
                left -= len(piece)
                if left < 0:
                    break
        except (ClientDisconnect, RuntimeError):
            pass  # gone, or read to its end already

    async def _look(self, upload: Upload) -> str:
        photo = bytes(upload.photo)
        kind = media_type(photo)
        if not kind:
            raise Refused(415, "no_image", "not a complete JPEG, PNG, WebP or GIF image")
        began = monotonic()
        try:
            text = await self._settings.explain(photo, kind, upload.question or DEFAULT_QUESTION)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - a provider's defect costs one photo, as its error does
            if isinstance(error, ProviderError) and error.reason == LOADING:
                self._counters.add("vision.loading")
                return f"The photo was taken, but could not be looked at yet: {STILL_LOADING}."
            self._counters.add("vision.failed")
            if not isinstance(error, ProviderError):
                self._counters.add("vision.defect")
            _log.warning("photo not explained", extra={"reason": describe(error)})
            return f"The photo was taken, but could not be looked at: {_why(error)}."
        self._counters.add("vision.answered")
        took_ms = round((monotonic() - began) * 1000)
        fields = {"bytes": len(photo), "media_type": kind, "ms": took_ms}
        _log.info("photo explained", extra=fields)
        # Half a surrogate pair cannot be sent.
        return well_formed(text[:MAX_ANSWER_CHARS])


def _why(error: Exception) -> str:
    reason = error.reason if isinstance(error, ProviderError) else ""
    return {
        "not_ready": "the vision service is not set up",
        "timeout": "the vision service did not answer in time",
        "unreachable": "the vision service cannot be reached",
        "no_key": "the vision service refuses the server's key",
        "no_model": "the vision service does not have the configured model",
        "quota": "the vision service's quota is used up",
        "busy": "the vision service has too much to do just now",
    }.get(reason, "the vision service failed")
