"""Device tokens that can be revoked one by one: signed, with an id and the time of issue.

A token is ``ID.ISSUED.EXPIRY.SIGNATURE``, the time of issue in milliseconds and the expiry in
seconds since 1970. Validity needs no look
into the database: the signature, the two times, and the short list of what was revoked. Tokens of
earlier versions, ``EXPIRY.SIGNATURE``, are still accepted where every device may connect.

What a device gets together with its code is void until the claim of that very code, or until every
device may come. Its id says so by its last letter, and is made of the code and of who got it; the
claim grants this one id.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from vixio.core.wall_clock import now_s
from vixio.data.devices.records import AccessMode, DeviceRecord, Standing, TokenRecord
from vixio.transports.admission.auth import TokenAuthenticator, TokenCheck
from vixio.transports.admission.identity import Identity

LASTING_S: Final = 3_650 * 86_400.0
"""Lifetime of tokens for MQTT: a device may keep its connection for years, and come back with the
token of its last start."""

_TOKEN = re.compile(r"([0-9a-f]{16}w?)\.([0-9]{1,15})\.([0-9]{1,12}\.[A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class Ticket:
    """What a token says of itself. ``id`` empty: a token of an earlier version, without one."""

    id: str
    issued_at: int
    """Milliseconds since 1970."""

    @property
    def waits(self) -> bool:
        """Whether it was issued with a code: void unless the claim of that code granted it."""
        return self.id.endswith("w")

    def outlives(self, standing: Standing, mode: AccessMode) -> bool:
        """Whether no claim and no revocation of all the device's tokens has made it void.

        Where every device may come, none waits for a claim: the server was opened since.
        """
        if self.waits and self.id == standing.granted:
            return True
        if self.waits and mode is not AccessMode.OPEN:
            return False
        return self.issued_at >= standing.tokens_from


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token. Times in milliseconds since 1970."""

    text: str
    id: str
    device_id: str
    client_id: str
    issued_at: int
    """0: it is void until the claim, which sets the time."""
    expires_at: int


class DeviceTokens:
    """Issues and checks tokens with one secret. ``clock``: seconds since 1970."""

    def __init__(
        self, secret: str, lifetime_s: float, *, clock: Callable[[], float] = now_s
    ) -> None:
        """Raises ConfigError if the secret is too short."""
        self._signer = TokenAuthenticator(secret, lifetime_s, clock=clock)
        self.lifetime_s = lifetime_s
        self._clock = clock

    def issue(
        self, device_id: str, client_id: str, *, since: int = 0, lasting: bool = False
    ) -> IssuedToken:
        """Return a new token for this device and client. ``lasting``: for MQTT.

        ``since``: milliseconds since 1970, when its tokens became valid, by the clock of whatever
        server wrote that: one that is ahead must not make the new token void.
        """
        now = self._clock()
        issued = max(round(now * 1000), since)
        until = now + (max(LASTING_S, self.lifetime_s) if lasting else self.lifetime_s)
        return self._signed(device_id, client_id, secrets.token_hex(8), issued, until)

    def again(self, token: TokenRecord) -> IssuedToken:
        """Return a token that was issued before."""
        until = token.expires_at / 1000
        return self._signed(token.device_id, token.client_id, token.id, token.issued_at, until)

    def issue_waiting(self, device: DeviceRecord) -> IssuedToken:
        """Return the token of a device that waits with a code, for the client that asked last.

        It is the same each time, as long as the code is.
        """
        code_at = device.code_at or 0
        until = code_at / 1000 + self.lifetime_s
        token = self._signed(device.id, device.asking_client, waiting_id(device), code_at, until)
        return replace(token, issued_at=0)

    def _signed(
        self, device_id: str, client_id: str, token_id: str, issued: int, until: float
    ) -> IssuedToken:
        bound = _bound(client_id, token_id, str(issued))
        signed = self._signer.issue(device_id, bound, until=until)
        return IssuedToken(
            f"{token_id}.{issued}.{signed}",
            token_id,
            device_id,
            client_id,
            issued,
            int(signed.partition(".")[0]) * 1000,
        )

    def verify(self, identity: Identity) -> tuple[TokenCheck, Ticket]:
        """Check a device's token in constant time. Never raises."""
        verdict, ticket = self._verify(identity, identity.device_id)
        if verdict is TokenCheck.WRONG and identity.sent_id:
            return self._verify(identity, identity.sent_id)  # older tokens have this spelling
        return verdict, ticket

    def _verify(self, identity: Identity, device_id: str) -> tuple[TokenCheck, Ticket]:
        parts = _TOKEN.fullmatch(identity.token)
        if parts is None:
            verdict = self._signer.verify(identity.token, device_id, identity.client_id)
            return verdict, Ticket("", 0)
        token_id, issued, signed = parts.groups()
        client = _bound(identity.client_id, token_id, issued)
        return self._signer.verify(signed, device_id, client), Ticket(token_id, int(issued))


def waiting_id(device: DeviceRecord) -> str:
    """Return the id of the token that goes with a device's code, for the client that asked last."""
    # The challenge is random, 128 bits: the id tells nothing about the code.
    parts = (device.id, device.asking_client, device.challenge, device.code, str(device.code_at))
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:16] + "w"


def _bound(client_id: str, token_id: str, issued: str) -> str:
    """Return what takes the client's place in the signature. No Client-Id has a line feed."""
    return f"{client_id}\n{token_id}.{issued}"
