"""Makes grammars ahead of their use, in a limited part of a worker's time.

Devices may change their tools every second, and a grammar costs a worker tens of milliseconds. So
one is made at a time, the latest request first, followed by a pause in which the worker is free for
utterances. This is only an optimisation: an utterance carries the request for its own grammar.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

MAX_WANTED: Final = 64
"""Requests that may wait for a worker, which keeps no more grammars either."""

SPARE: Final = 0.25
"""The share of a worker's time that preparing may take."""


class Preparations:
    """The grammars that one worker prepares. ``send`` sends it one request."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._wanted: OrderedDict[bytes, None] = OrderedDict()
        self._changed = asyncio.Event()
        self._done = asyncio.Event()

    @property
    def waiting(self) -> int:
        """How many requests have not been sent yet."""
        return len(self._wanted)

    def want(self, request: bytes) -> None:
        """Add a request; the oldest is dropped when there are too many."""
        self._wanted[request] = None
        self._wanted.move_to_end(request)
        while len(self._wanted) > MAX_WANTED:
            self._wanted.popitem(last=False)
        self._changed.set()

    def done(self) -> None:
        """Note that the worker has answered the last request."""
        self._done.set()

    async def run(self) -> None:
        """Send the requests, one at a time, until cancelled."""
        while True:
            while not self._wanted:
                self._changed.clear()
                await self._changed.wait()
            request, _ = self._wanted.popitem()
            self._done.clear()
            began = time.monotonic()
            self._send(request)
            await self._done.wait()
            await asyncio.sleep((time.monotonic() - began) * (1 / SPARE - 1))
