"""The body of `/activate`, in the forms that clients send (ota.cc, GetActivationPayload)."""

from __future__ import annotations

import hashlib
import hmac
import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from vixio.core.well_formed import well_formed


@dataclass(frozen=True, slots=True)
class Proof:
    """What a device with a serial number says; empty: version 1, which proves nothing."""

    serial: str = ""
    challenge: str = ""
    hmac: str = ""

    def holds(self, key: str, challenge: str) -> bool:
        """Whether the device has ``key`` (hexadecimal) and answers ``challenge``.

        The HMAC is SHA-256 over the challenge's bytes, in hexadecimal.
        """
        if not (key and challenge and self.hmac):
            return False
        expected = hmac.new(bytes.fromhex(key), challenge.encode(), hashlib.sha256).hexdigest()
        return hmac.compare_digest(
            expected.encode(), self.hmac.lower().encode()
        ) and hmac.compare_digest(challenge.encode(), self.challenge.encode())


def read_proof(body: bytes) -> Proof:
    """Return what a body says: `{}`, the fields, or the fields in `{"Payload": …}`.

    The firmware sends `{}` as well where its chip cannot compute the HMAC. What is not understood
    counts as empty.
    """
    document: Any = None
    with suppress(ValueError, RecursionError):
        document = json.loads(body)
    if isinstance(document, dict) and isinstance(document.get("Payload"), dict):
        document = document["Payload"]
    if not isinstance(document, dict):
        return Proof()
    serial, challenge, digest = (
        well_formed(value) if isinstance(value := document.get(name), str) else ""
        for name in ("serial_number", "challenge", "hmac")
    )
    return Proof(serial, challenge, digest)
