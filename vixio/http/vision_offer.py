"""The ``vision`` capability of a session: where its camera posts photos, and with which token.

The token is ``SESSION.EXPIRY.SIGNATURE``: the session's id, and what
:class:`~vixio.transports.admission.auth.TokenAuthenticator` makes of it, signed for this device.
Nothing is stored, so whichever process of this server gets the photo can check it;
it opens nothing once the session is over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from vixio.core.tools.types import JsonObject
from vixio.http.public_url import public_url
from vixio.transports.admission.auth import TokenAuthenticator, TokenCheck

VISION_PATH = "/mcp/vision/explain"


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionOffer:
    """Makes each session's offer and checks what comes back.

    ``port`` returns the HTTP server's port, once it listens. ``public_host`` stands in the URL
    instead of the address through which the device came.
    """

    tokens: TokenAuthenticator
    port: Callable[[], int]
    public_host: str = ""

    def for_session(
        self,
        session_id: str,
        device_id: str,
        headers: Mapping[str, str],
        own_host: str,
        *,
        trust_forwarded: bool,
    ) -> JsonObject:
        """Return the ``vision`` capability of ``initialize`` (mcp_server.cc, ParseCapabilities)."""
        if self.public_host:
            headers, trust_forwarded = {"host": self.public_host}, False
        url = public_url(
            headers,
            own_host,
            schemes=("http", "https"),
            port=self.port(),
            path=VISION_PATH,
            trust_forwarded=trust_forwarded,
        )
        return {"url": url, "token": f"{session_id}.{self.tokens.issue(device_id, session_id)}"}

    def session_of(self, token: str, device_id: str) -> tuple[str, TokenCheck]:
        """Return the session for which ``token`` was issued to ``device_id``, and the verdict."""
        session_id, _, signed = token.partition(".")
        return session_id, self.tokens.verify(signed, device_id, session_id)
