"""A lease that hands its conversation over: shared a moment after each change of it."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable
from typing import Final

from vixio.core.cluster import Lease, OnLost

SHARE_S: Final = 0.05
"""A conversation changes several times at a turn's end: it is sent once."""


class SharingLease(Lease):
    """What the leases of several processes have in common."""

    def __init__(self, device_id: str, token: int, on_lost: OnLost, handover: str = "") -> None:
        super().__init__(device_id, token, on_lost, handover)
        self._dump: Callable[[], str] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def share_handover(self, dump: Callable[[], str]) -> None:
        """Publish the conversation for the next holder, :data:`SHARE_S` seconds later."""
        if self._released:
            return
        self._dump = dump
        if self._timer is None and not self.lost:
            self._timer = asyncio.get_running_loop().call_later(SHARE_S, self.flush)

    def take_handover(self) -> str | None:
        """Return what has not been sent yet; None: nothing."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        dump, self._dump = self._dump, None
        return dump() if dump is not None else None

    def keep_handover(self, text: str) -> None:
        """Keep what could not be sent for whoever asks for it, unless there is more since."""
        if self._dump is None:
            self._dump = lambda: text

    @abstractmethod
    def flush(self) -> None:
        """Send what is to be shared now."""
