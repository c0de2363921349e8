"""Links to firmware: signed, short-lived, for one device and one image.

The firmware downloads with a bare GET, without any header that says which device it is (ota.cc,
Upgrade), so what it may have stands in the path. Nothing is stored: any process with the secret can
check a link that another one made.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from vixio.core.wall_clock import now_s
from vixio.web.http.public_url import HttpAddress

FIRMWARE_PATH: Final = "/xiaozhi/firmware/"

LIFETIME_S: Final = 15 * 60.0
"""A device begins within seconds of the OTA answer. A download that has begun may take longer."""

_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}"
_PATH: Final = re.compile(
    rf"({_NAME})/({_NAME})/([A-Za-z0-9_-]{{1,600}})\.([A-Za-z0-9_-]{{43}})/xiaozhi\.bin", re.ASCII
)
_CONTENT: Final = re.compile(r"([0-9]{1,12})\|([0-9]{1,18})\|([0-9a-f]{64})\|(.*)", re.DOTALL)

_PURPOSE: Final = b"vixio firmware link"
"""Makes a key of its own of the secret, so that no other signature of the server fits."""


class BadLink(Exception):
    """A link that does not open anything. ``expired``: it did once."""

    def __init__(self, *, expired: bool = False) -> None:
        super().__init__("the link has expired" if expired else "the link is not valid")
        self.expired = expired


@dataclass(frozen=True, slots=True, kw_only=True)
class FirmwareTicket:
    """What a link is for."""

    attempt: int
    """A number by which the record of the download is found."""
    device_id: str
    board: str
    version: str
    sha256: str
    """Of the image, in hexadecimal digits: a link does not open another image of the same name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirmwareLinks:
    """Makes links and checks them.

    ``address``: where a device reaches the server. ``clock``: seconds since 1970.
    """

    secret: bytes
    address: HttpAddress
    clock: Callable[[], float] = now_s

    def url(
        self,
        ticket: FirmwareTicket,
        headers: Mapping[str, str],
        own_host: str,
        *,
        trust_forwarded: bool,
    ) -> str:
        """Return the URL for the device that sent ``headers``, as :attr:`address` does."""
        path = self.path(ticket)
        return self.address(headers, own_host, trust_forwarded=trust_forwarded, path=path)

    def path(self, ticket: FirmwareTicket) -> str:
        """Return the path of the URL."""
        expiry = math.ceil(self.clock() + LIFETIME_S)
        content = f"{expiry}|{ticket.attempt}|{ticket.sha256}|{ticket.device_id}"
        encoded = _encode(content.encode("utf-8", "replace"))
        signature = self._sign(ticket.board, ticket.version, encoded)
        path = f"{ticket.board}/{ticket.version}/{encoded}.{signature}/xiaozhi.bin"
        if _PATH.fullmatch(path) is None:
            raise ValueError("no link can be made for such a ticket")
        return FIRMWARE_PATH + path

    def check(self, path: str) -> FirmwareTicket:
        """Return what the link with this path, behind FIRMWARE_PATH, is for. Raises BadLink."""
        parts = _PATH.fullmatch(path)
        if parts is None:
            raise BadLink
        board, version, encoded, signature = parts.groups()
        if not hmac.compare_digest(signature, self._sign(board, version, encoded)):
            raise BadLink
        content = _CONTENT.fullmatch(_decode(encoded))
        if content is None:
            raise BadLink
        expiry, attempt, sha256, device_id = content.groups()
        if self.clock() >= int(expiry):
            raise BadLink(expired=True)
        return FirmwareTicket(
            attempt=int(attempt), device_id=device_id, board=board, version=version, sha256=sha256
        )

    def _sign(self, board: str, version: str, encoded: str) -> str:
        # No part has a slash in it, so no two links give the same message.
        message = f"{board}/{version}/{encoded}".encode()
        key = hmac.new(self.secret, _PURPOSE, hashlib.sha256).digest()
        return _encode(hmac.new(key, message, hashlib.sha256).digest())


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _decode(text: str) -> str:
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        return ""
    return data.decode("utf-8", "replace")
