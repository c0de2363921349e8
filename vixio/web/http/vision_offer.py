"""The ``vision`` capability of a session: where its camera posts photos, and with which token.

The token is ``SESSION.EXPIRY.SIGNATURE``: the session's id, and what
:class:`~vixio.transports.admission.auth.TokenAuthenticator` makes of it, signed for this device.
Nothing is stored, so whichever process of this server gets the photo can check it;
it opens nothing once the session is over.
"""

from __future__ import annotations

from dataclasses import dataclass

from vixio.core.tools.types import JsonObject
from vixio.transports.admission.auth import TokenAuthenticator, TokenCheck

VISION_PATH = "/mcp/vision/explain"


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionOffer:
    """Makes each session's offer and checks what comes back."""

    tokens: TokenAuthenticator

    def for_session(self, session_id: str, device_id: str, http_url: str) -> JsonObject:
        """Return the ``vision`` capability of ``initialize`` (mcp_server.cc, ParseCapabilities)."""
        token = f"{session_id}.{self.tokens.issue(device_id, session_id)}"
        return {"url": f"{http_url}{VISION_PATH}", "token": token}

    def session_of(self, token: str, device_id: str) -> tuple[str, TokenCheck]:
        """Return the session for which ``token`` was issued to ``device_id``, and the verdict."""
        session_id, _, signed = token.partition(".")
        return session_id, self.tokens.verify(signed, device_id, session_id)
