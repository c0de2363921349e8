"""The latest conversation of each device, kept for its next holder; bounded."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

MAX_DEVICES: Final = 10_000
MAX_CHARACTERS: Final = 64 * 1024 * 1024


class _Entry(NamedTuple):
    token: int
    text: str


class HandoverStore:
    """Texts by device, with the token of the lease under which each was written.

    Over a bound, the devices that were used least recently are dropped.
    """

    def __init__(
        self, max_devices: int = MAX_DEVICES, max_characters: int = MAX_CHARACTERS
    ) -> None:
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._characters = 0
        self._max_devices = max_devices
        self._max_characters = max_characters

    @property
    def characters(self) -> int:
        """How many are kept in all."""
        return self._characters

    def put(self, device_id: str, token: int, text: str) -> bool:
        """Replace a device's text; False: an older holder wrote it too late."""
        before = self._entries.get(device_id)
        if before is not None and token < before.token:
            return False
        self._characters += len(text) - (len(before.text) if before else 0)
        self._entries[device_id] = _Entry(token, text)
        self._entries.move_to_end(device_id)
        while len(self._entries) > self._max_devices or self._characters > self._max_characters:
            _, dropped = self._entries.popitem(last=False)
            self._characters -= len(dropped.text)
        return True

    def get(self, device_id: str) -> str:
        """Return a device's text; empty if there is none."""
        if device_id not in self._entries:
            return ""
        self._entries.move_to_end(device_id)
        return self._entries[device_id].text
