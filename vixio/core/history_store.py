"""The conversations of the devices seen last, in memory, in front of what keeps them for longer."""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

from vixio.core.history import History


class HistoryKeeper(Protocol):
    """Keeps histories beyond the process. All of it returns at once."""

    def key(self, device_id: str) -> str:
        """Return what stands for a device, in whichever form its id came."""

    def connected(self, key: str, history: History, sent_id: str = "") -> None:
        """Begin to bring ``history`` up to date, and listen to it from now on.

        ``sent_id``: the device's own spelling of its id, which older records may stand under.
        """

    def dropped(self, key: str) -> None:
        """The history of this device is no longer held in memory."""

    async def written(self, key: str) -> None:
        """Wait, for a bounded time, until the conversation is visible to other processes."""


class HistoryStore:
    """The histories of the devices seen last, in memory; the oldest is dropped when it is full.

    ``max_devices`` bounds how many are held, ``max_turns`` and ``max_tokens`` how much of each.
    With a ``keeper`` this is the cache in front of it.
    """

    def __init__(
        self,
        max_devices: int = 10_000,
        max_turns: int = 20,
        max_tokens: int = 6_000,
        keeper: HistoryKeeper | None = None,
    ) -> None:
        self._histories: OrderedDict[str, History] = OrderedDict()
        self._max_devices = max_devices
        self._max_turns = max_turns
        self._max_tokens = max_tokens
        self._keeper = keeper

    def get(self, device_id: str, sent_id: str = "") -> History:
        """Return the history of a device that has connected; a new one if it is not held.

        ``sent_id``: the id as the device spells it, for a store that has it under that spelling.
        """
        key = self._keeper.key(device_id) if self._keeper else device_id
        history = self._histories.get(key)
        if history is None:
            history = self._histories[key] = History(self._max_turns, self._max_tokens)
        self._histories.move_to_end(key)
        while len(self._histories) > self._max_devices:
            dropped, _ = self._histories.popitem(last=False)
            if self._keeper is not None:
                self._keeper.dropped(dropped)
        if self._keeper is not None:
            self._keeper.connected(key, history, sent_id)
        return history

    def drop(self, device_id: str) -> None:
        """Drop the history of a device from memory; a keeper still has it."""
        key = self._keeper.key(device_id) if self._keeper else device_id
        if self._histories.pop(key, None) is not None and self._keeper is not None:
            self._keeper.dropped(key)

    @property
    def kept(self) -> bool:
        """Whether there is a keeper. Other processes of this server use the same one."""
        return self._keeper is not None

    async def written(self, device_id: str) -> None:
        """Wait, for a bounded time, until the keeper has all of a device."""
        if self._keeper is not None:
            await self._keeper.written(self._keeper.key(device_id))
