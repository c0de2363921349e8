"""Repeats what this node has to the other nodes: changes at once, a sign of life every two seconds.

Each message has a number, so that a node that missed one notices and asks for the whole.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

import nats.errors

from vixio import __version__
from vixio.bus.errors import BrokerError
from vixio.cluster.nats.link import Link
from vixio.cluster.nats.names import PROTOCOL, STATE, proof_of
from vixio.cluster.nats.rows import DEVICE, Row, pages

BEAT_S: Final = 2.0
"""Seconds between two signs of life."""

GATHER_S: Final = 0.02
"""What changes within so many seconds goes in one message."""

PAGE: Final = 2_000
"""Rows in a message, some 100 KB."""

WHOLE_S: Final = 0.25
"""Seconds between two times that all rows are sent, at least: many may ask at once."""

MAX_CHARGES: Final = 10_000
"""That wait for a bus; older ones are of no use to a rate limit."""


class State:
    """``about``: what is in each sign of life beside it."""

    def __init__(self, node: str, secret: str, link: Link, about: Mapping[str, str]) -> None:
        self._node = node
        self._proof = proof_of(secret, node)
        self._link = link
        self._about = about
        self._rows: dict[Row, int] = {}
        self._changed: dict[Row, None] = {}
        self._charges: deque[tuple[str, str, int]] = deque(maxlen=MAX_CHARGES)
        self._number = 0
        self._whole = True
        self._next_whole = 0.0
        self._wake = asyncio.Event()

    def count(self, name: str, key: str = "") -> int:
        """Return the number of a row."""
        return self._rows.get((name, key), 0)

    def set(self, name: str, key: str, number: int) -> None:
        """Set a row; 0 removes it."""
        row = (name, key)
        if self._rows.get(row, 0) == number:
            return
        if number:
            self._rows[row] = number
        else:
            del self._rows[row]
        self._changed[row] = None
        self._wake.set()

    def device(self, device_id: str, connected: bool) -> None:
        """Set whether a device is connected to this node."""
        self.set(DEVICE, device_id, int(connected))

    def charge(self, name: str, key: str, amount: int) -> None:
        """Tell what a rate limit of all nodes counts."""
        self._charges.append((name, key, amount))
        self._wake.set()

    def send_whole(self) -> None:
        """Send all rows: a node is new, or missed something."""
        self._whole = True
        self._wake.set()

    async def run(self) -> None:
        """Send until it is cancelled."""
        while True:
            try:
                async with asyncio.timeout(BEAT_S):
                    await self._wake.wait()
                await asyncio.sleep(GATHER_S)
            except TimeoutError:
                pass
            self._wake.clear()
            if self._link.connected:
                try:
                    await self._send()
                except BrokerError:
                    self._whole = True  # with the next connection

    async def leave(self) -> None:
        """Tell the others that this node has nothing any more."""
        try:
            await self._publish(bye=True)
            await self._link.client.flush(1)
        except (BrokerError, nats.errors.Error, OSError):
            pass  # the others notice its silence

    async def _send(self) -> None:
        loop = asyncio.get_running_loop()
        if self._whole and (wait := self._next_whole - loop.time()) > 0:
            loop.call_later(wait, self._wake.set)
            return
        charges = [list(each) for each in self._charges]
        self._charges.clear()
        if not self._whole:
            changed = [[*row, self._rows.get(row, 0)] for row in self._changed]
            self._changed.clear()
            for start in range(0, len(changed) or 1, PAGE):
                await self._publish(rows=changed[start : start + PAGE], charges=charges)
                charges = []
            return
        self._whole = False
        self._next_whole = loop.time() + WHOLE_S
        self._changed.clear()
        found = list(pages(self._rows, PAGE))
        for index, rows in enumerate(found):
            await self._publish(whole=[index, len(found)], rows=rows, charges=charges)
            charges = []

    async def _publish(self, **body: Any) -> None:  # noqa: ANN401 - JSON values
        self._number += 1
        await self._link.publish(
            f"{STATE}.{self._node}",
            {
                "node": self._node,
                "number": self._number,
                "protocol": PROTOCOL,
                "version": __version__,
                "proof": self._proof,
                **self._about,
                **body,
            },
        )
