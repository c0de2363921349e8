"""Who calls: bearer tokens and their owners."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import SecretStr

from vixio.core.device import RESERVED_PREFIX
from vixio.transports.admission.addresses import parse_address

_NOT_DIRECT: Final = (
    *("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"),
    *("origin", "referer", "sec-fetch-site", "sec-fetch-mode"),
)
"""Headers of reverse proxies, and of browsers."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What belongs together: an owner's contexts and tasks with the assistant, or with a device."""

    owner: str
    device: str = ""
    """Its normalised id; empty: the assistant itself."""

    @property
    def name(self) -> str:
        """A name that no other scope has; no owner's name has a slash."""
        return f"{self.owner}/{self.device}" if self.device else self.owner


class Callers:
    """Finds the owner of a token. Only digests are kept."""

    def __init__(self, tokens: Mapping[str, SecretStr]) -> None:
        self._owners = [
            (_digest(token.get_secret_value()), owner) for owner, token in tokens.items()
        ]

    def owner(self, authorization: str) -> str:
        """Return the owner for an Authorization value; empty: none has this token.

        Compares with every token, and each in constant time.
        """
        scheme, _, token = authorization.strip().partition(" ")
        given = _digest(token.strip())
        found = ""
        for known, owner in self._owners:
            if hmac.compare_digest(known, given):
                found = owner
        return found if scheme.lower() == "bearer" else ""


def is_program_here(peer: str, headers: Mapping[str, str]) -> bool:
    """Whether a request comes from a program of this machine itself.

    Not from a reverse proxy, whose clients are elsewhere, and not from a page in a browser, which
    any site can have send requests to this machine.
    """
    address = parse_address(peer)
    return (
        address is not None
        and address.is_loopback
        and not any(name in headers for name in _NOT_DIRECT)
        and _is_loopback_name(headers.get("host", ""))
    )


def _is_loopback_name(host: str) -> bool:
    address = parse_address(host)
    if address is not None:
        return address.is_loopback
    return host.strip().lower().partition(":")[0] == "localhost"


def conversation_key(owner: str, context_id: str) -> str:
    """Return the key of a context's conversation; it has the shape of a normalised device id."""
    plain = context_id.isascii() and len(context_id) <= 64
    if not plain or any(not (c.islower() or c.isdigit() or c in "-_.") for c in context_id):
        context_id = f"sha256.{hashlib.sha256(context_id.encode()).hexdigest()[:40]}"
    return f"{RESERVED_PREFIX}{owner}/{context_id}"


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()
