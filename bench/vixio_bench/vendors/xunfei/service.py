"""The services of Xunfei on one port: who asks, and a connection for each use."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any, Final

from aiohttp import web

from vixio_bench.vendors.base import Trouble, VendorService
from vixio_bench.vendors.xunfei.speech import Speech
from vixio_bench.vendors.xunfei.utterance import ModelUtterance, OldUtterance

APP_ID, KEY, SECRET = "a1b2c3d4", "key-of-the-stand-in", "secret-of-the-stand-in"

MODEL_PATH: Final = "/v1"
OLD_PATH: Final = "/v2/iat"
VOICE_PATH: Final = "/v1/private/mcd9m97e6"

SKEW_S: Final = 300

_PART: Final = re.compile(r'(\w+)="([^"]*)"')


class XunfeiService(VendorService):
    """All of them on one port."""

    licensed = ("slm", "iat", "x5_lingxiaoxuan_flow")
    """What the application may use: domains and voices."""
    swapped = False
    """Whether frames of sound overtake each other."""
    first_number = 0
    """Of the frames of sound."""
    odd = False
    """Whether sound is cut in the middle of a sample."""

    def __init__(
        self,
        *given: Any,  # noqa: ANN401 - of the base
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        **options: Any,  # noqa: ANN401 - of the base
    ) -> None:
        super().__init__(*given, **options)
        self._clock = clock
        self.hotwords = ""
        """The words that a recogniser got."""

    @property
    def model_url(self) -> str:
        """As the settings have it."""
        return f"{self.ws}{MODEL_PATH}"

    @property
    def old_url(self) -> str:
        """As the settings have it."""
        return f"{self.ws}{OLD_PATH}"

    @property
    def voice_url(self) -> str:
        """As the settings have it."""
        return f"{self.ws}{VOICE_PATH}"

    def routes(self) -> list[web.AbstractRouteDef]:
        return [
            web.get(MODEL_PATH, self._model),
            web.get(OLD_PATH, self._old),
            web.get(VOICE_PATH, self._voice),
        ]

    def _refusal(self, request: web.Request) -> web.Response | None:
        """Check the signature: its date first, then whose it is, and what it signs."""
        query, now = request.query, self._clock()
        headers = {"Date": format_datetime(now, usegmt=True)}
        if asked := self.refusal_asked():
            body = {"message": asked[2]}
            return web.json_response(body, status=asked[0], headers=headers)
        try:
            date = parsedate_to_datetime(query["date"])
            authorization = base64.b64decode(query["authorization"], validate=True).decode()
        except (KeyError, ValueError):
            return web.json_response({"message": "Unauthorized"}, status=401, headers=headers)
        if abs((date - now).total_seconds()) > SKEW_S:
            text = "HMAC signature cannot be verified, a valid date or x-date header is required"
            return web.json_response({"message": text}, status=403, headers=headers)
        parts = dict(_PART.findall(authorization))
        host = query.get("host", "")
        if host != request.headers.get("Host"):
            self.violated("a host that is not that of the connection")
        origin = f"host: {host}\ndate: {query['date']}\nGET {request.path} HTTP/1.1"
        digest = hmac.new(SECRET.encode(), origin.encode(), hashlib.sha256).digest()
        right = {
            "api_key": KEY,
            "algorithm": "hmac-sha256",
            "headers": "host date request-line",
            "signature": base64.b64encode(digest).decode(),
        }
        if parts != right or self.trouble(Trouble.REFUSED):
            text = "HMAC signature does not match"
            return web.json_response({"message": text}, status=401, headers=headers)
        return None

    async def _model(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._refusal(request):
            return refusal
        async with self.socket(request) as socket:
            await ModelUtterance(self, request, socket).run()
        return socket

    async def _old(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._refusal(request):
            return refusal
        async with self.socket(request) as socket:
            await OldUtterance(self, request, socket).run()
        return socket

    async def _voice(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._refusal(request):
            return refusal
        async with self.socket(request) as socket:
            await Speech(self, request, socket).run()
        return socket
