"""Pictures of screens, on their way from a device to whoever asked for one.

The firmware posts the picture to a URL, without any credentials (mcp_server.cc,
self.screen.snapshot). So each URL has a signed ticket, for one picture and a short time. The device
may reach another process than the one that waits; that one broadcasts what it gets.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from vixio.core.cluster import Broadcast
from vixio.core.tools.types import JsonObject
from vixio.core.wall_clock import now_s
from vixio.transports.admission.auth import TokenAuthenticator, TokenCheck

PATH: Final = "/xiaozhi/screen/"
"""The ticket follows."""

LIFETIME_S: Final = 60.0
"""Of a ticket: longer than a tool of a device may take to begin."""

MAX_BYTES: Final = 512 * 1024
"""A screen of 800 by 480 in the best quality has 150 KB."""

MAX_USED: Final = 1_000
"""Tickets that are remembered as used."""

TOPIC: Final = "api.screen"
_SIGNED_FOR: Final = "screen"


@dataclass(slots=True)
class Expected:
    """A picture that somebody waits for. ``path``: where the device posts it."""

    path: str
    _image: asyncio.Future[bytes] = field(repr=False)

    async def image(self) -> bytes:
        """Wait for the picture."""
        return await asyncio.shield(self._image)


class Screens:
    """``secret``: that of all processes of the server; empty: there is only this one. ``clock``:
    seconds since 1970."""

    def __init__(
        self, broadcast: Broadcast, secret: str, clock: Callable[[], float] = now_s
    ) -> None:
        secret = secret or secrets.token_hex(32)
        self._tokens = TokenAuthenticator(secret, LIFETIME_S, clock=clock)
        self._broadcast = broadcast
        self._broadcast.on_message(TOPIC, self._received)
        self._waiting: dict[str, asyncio.Future[bytes]] = {}
        self._used: OrderedDict[str, None] = OrderedDict()

    @contextmanager
    def expected(self) -> Iterator[Expected]:
        """Wait for one picture within the block."""
        name = secrets.token_hex(8)
        ticket = f"{name}.{self._tokens.issue(_SIGNED_FOR, name)}"
        image = self._waiting[name] = asyncio.get_running_loop().create_future()
        try:
            yield Expected(f"{PATH}{ticket}", image)
        finally:
            del self._waiting[name]
            image.cancel()

    def admit(self, ticket: str) -> bool:
        """Whether a picture may be posted with this ticket: once."""
        name, _, signed = ticket.partition(".")
        if name in self._used:
            return False
        if self._tokens.verify(signed, _SIGNED_FOR, name) is not TokenCheck.VALID:
            return False
        self._used[name] = None
        if len(self._used) > MAX_USED:
            self._used.popitem(last=False)
        return True

    def deliver(self, ticket: str, image: bytes) -> None:
        """Hand a picture to whoever waits for it, in any process."""
        name, _, _ = ticket.partition(".")
        if not self._arrived(name, image):
            text = base64.b64encode(image).decode()
            self._broadcast.send(TOPIC, {"name": name, "image": text})

    def _arrived(self, name: str, image: bytes) -> bool:
        waiting = self._waiting.get(name)
        if waiting is None:
            return False
        if not waiting.done():
            waiting.set_result(image)
        return True

    def _received(self, body: JsonObject) -> None:
        match body:
            case {"name": str(name), "image": str(text)} if name in self._waiting:
                try:
                    self._arrived(name, base64.b64decode(text, validate=True))
                except binascii.Error:
                    return
