"""What devices remember, kept for the process that they come to next; bounded."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

MAX_DEVICES: Final = 10_000
MAX_CHARACTERS: Final = 64 * 1024 * 1024


class HandoverStore:
    """The latest dump of each device; those not seen longest go first."""

    def __init__(
        self, max_devices: int = MAX_DEVICES, max_characters: int = MAX_CHARACTERS
    ) -> None:
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._characters = 0
        self._max_devices = max_devices
        self._max_characters = max_characters

    def put(self, device_id: str, text: str) -> None:
        """Keep ``text`` instead of what there was."""
        self._characters += len(text) - len(self._texts.pop(device_id, ""))
        self._texts[device_id] = text
        while len(self._texts) > self._max_devices or self._characters > self._max_characters:
            _, dropped = self._texts.popitem(last=False)
            self._characters -= len(dropped)

    def get(self, device_id: str) -> str:
        """Return what is kept; empty if nothing is."""
        if device_id in self._texts:
            self._texts.move_to_end(device_id)
        return self._texts.get(device_id, "")
