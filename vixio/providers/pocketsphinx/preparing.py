"""Makes grammars before they are wanted, in what time a worker has to spare.

Devices may announce other tools every second, and a grammar takes a worker tens of milliseconds. So
one is made at a time, the latest wanted first, and then utterances have the worker for a while.
Nothing depends on it: an utterance brings all that its grammar is made of.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

MAX_WANTED: Final = 64
"""Requests that wait for a worker; it does not keep more grammars either."""

SPARE: Final = 0.25
"""The part of a worker's time that preparing may take."""


class Preparations:
    """What one worker is to prepare. ``send`` hands it one request."""

    def __init__(self, send: Callable[[bytes], None]) -> None:
        self._send = send
        self._wanted: OrderedDict[bytes, None] = OrderedDict()
        self._changed = asyncio.Event()
        self._done = asyncio.Event()

    @property
    def waiting(self) -> int:
        """How many requests the worker has not been given yet."""
        return len(self._wanted)

    def want(self, request: bytes) -> None:
        """Note a request; the oldest is dropped when there are too many."""
        self._wanted[request] = None
        self._wanted.move_to_end(request)
        while len(self._wanted) > MAX_WANTED:
            self._wanted.popitem(last=False)
        self._changed.set()

    def done(self) -> None:
        """The worker has answered the request that it was given."""
        self._done.set()

    async def run(self) -> None:
        """Hand requests out, one at a time, until cancelled."""
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
