"""The other processes that serve the same ports, as a session and a transport see them.

What holds for the server as a whole (how many may connect, who is connected where, what a device
remembers) is asked here. :class:`Cluster` itself is the answer of a process that is alone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

SOCKETS = "sockets"
"""Table: connections past their upgrade, under the one key ``""``."""

DEVICES = "devices"
"""Table: 1 for each device that has a session."""

OPEN = "open"
"""Table: all connections of devices, under the one key ``""``."""

Acted = Callable[[str, int], None]
"""Told the key and how many acts were done elsewhere."""

Release = Callable[[str], Awaitable[None]]
"""Ends the session of a device, which has come to another process; returns when it is over."""


class Cluster:
    """There are none. What they know is at most a few hundredths of a second old elsewhere."""

    several = False
    """Are there any, now or later?"""

    def tell(self, table: str, key: str, count: int) -> None:
        """Say how many of ``key`` this process has; 0: none any more."""

    def count(self, table: str, key: str = "") -> int:
        """Return how many of ``key`` the others have together."""
        return 0

    def act(self, kind: str, key: str, number: int = 1) -> None:
        """Say that something was done that a rate limit of all processes counts."""

    def on_act(self, kind: str, acted: Acted) -> None:
        """Have ``acted`` told what is done elsewhere."""

    def on_release(self, release: Release) -> None:
        """Have ``release`` called when a device has come to another process."""

    async def claim(self, device_id: str) -> str:
        """Make this process the one that has the device; others end theirs first, or soon.

        Returns, within a bounded time, what the device remembers (``handover.dump``); empty: what
        this process has itself is all there is.
        """
        return ""

    def leave(self, device_id: str) -> None:
        """The device has no session here any more."""

    def remember(self, device_id: str, dump: Callable[[], str]) -> None:
        """Keep for the others what ``dump`` returns a moment later."""
