"""Sound that is recorded while the device runs, such as by a real microphone."""

from __future__ import annotations

from typing import Final

import numpy as np

from firmware_test_client.pcm import Samples

RATE: Final = 16_000  # Hz, as the uplink
CUSHION: Final = RATE * 15 // 100  # samples; programs that record write 100 to 130 ms at a time
LONGEST: Final = RATE // 2  # samples that wait; older ones are dropped, so it is never later


class LiveSound:
    """Takes 16-bit PCM at 16 kHz as it comes, and gives it frame by frame.

    After a gap it waits until `CUSHION` is there, so that a frame is whole or silent.
    """

    def __init__(self) -> None:
        self._data = bytearray()
        self._flows = False

    def feed(self, data: bytes) -> None:
        """Take little-endian mono samples, in pieces of any size."""
        self._data += data
        if (excess := len(self._data) - 2 * LONGEST) > 0:
            del self._data[: excess + excess % 2]

    def take(self, count: int) -> Samples:
        """The next `count` samples, or none."""
        self._flows = len(self._data) >= 2 * (count if self._flows else max(count, CUSHION))
        size = 2 * count if self._flows else 0
        samples = np.frombuffer(bytes(self._data[:size]), dtype="<i2")
        del self._data[:size]
        return samples

    def clear(self) -> None:
        """Forget what waits."""
        del self._data[: len(self._data) // 2 * 2]  # half a sample stays with its other half
        self._flows = False
