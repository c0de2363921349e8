"""Signed tokens: expiring, bound to one device and client.

A token is ``EXPIRY.SIGNATURE``: the expiry in seconds since 1970 and an HMAC-SHA256 over it and
both identities. Nothing is stored, so any process with the secret can check what another issued. It
has no space in it: the firmware puts "Bearer " before such a token (websocket_protocol.cc,
OpenAudioChannel).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
import re
from collections.abc import Callable
from enum import StrEnum

from vixio.core.errors import ConfigError
from vixio.core.wall_clock import now_s

DEFAULT_LIFETIME_S = 30 * 86_400.0
"""A device asks OTA for a token only when it boots, and may then run for weeks."""

MIN_SECRET_BYTES = 16
"""A shorter secret can be guessed from one captured token."""

_TOKEN = re.compile(r"([0-9]{1,12})\.([A-Za-z0-9_-]{43})")


class TokenCheck(StrEnum):
    """The result of a check. Distinguished for counters; the client gets the same answer to all."""

    VALID = "valid"
    MISSING = "missing"
    WRONG = "wrong"
    EXPIRED = "expired"
    REVOKED = "revoked"


class TokenAuthenticator:
    """Signs with one secret; tokens are valid for ``lifetime_s`` seconds.

    ``clock`` gives seconds since 1970. Raises ConfigError if the secret is too short.
    """

    def __init__(
        self,
        secret: str,
        lifetime_s: float = DEFAULT_LIFETIME_S,
        *,
        clock: Callable[[], float] = now_s,
    ) -> None:
        if len(secret.encode()) < MIN_SECRET_BYTES:
            raise ConfigError(f"the token secret needs at least {MIN_SECRET_BYTES} bytes")
        if not lifetime_s > 0:
            raise ConfigError("the lifetime of tokens must be more than 0 seconds")
        self._secret = secret.encode()
        self._lifetime_s = lifetime_s
        self._clock = clock

    def issue(self, device_id: str, client_id: str, *, until: float | None = None) -> str:
        """Return a token for this device that expires at ``until``; None: the lifetime from now."""
        expiry = str(math.ceil(self._clock() + self._lifetime_s if until is None else until))
        return f"{expiry}.{self._sign(expiry, device_id, client_id)}"

    def verify(self, token: str, device_id: str, client_id: str) -> TokenCheck:
        """Check in constant time that ``token`` was issued to this device and has not expired."""
        if not token:
            return TokenCheck.MISSING
        parts = _TOKEN.fullmatch(token)
        if parts is None:
            return TokenCheck.WRONG
        expiry, signature = parts.groups()
        if not hmac.compare_digest(signature, self._sign(expiry, device_id, client_id)):
            return TokenCheck.WRONG
        return TokenCheck.VALID if self._clock() < int(expiry) else TokenCheck.EXPIRED

    def _sign(self, expiry: str, device_id: str, client_id: str) -> str:
        # Lengths precede the identities, so that no two pairs give the same message.
        device, client = (text.encode("utf-8", "replace") for text in (device_id, client_id))
        message = b"%s|%d|%s|%d|%s" % (expiry.encode(), len(device), device, len(client), client)
        digest = hmac.new(self._secret, message, hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
