"""The native detectors of all devices, one a slot. They belong to the worker thread."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from vixio.providers.ten_vad.library import NAME, WINDOW_BYTES, Detector


class TenModel:
    """What the worker runs. A native detector lives from a slot's forget to its release."""

    name = NAME
    window_bytes = WINDOW_BYTES

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self._detectors: dict[int, Detector] = {}

    @property
    def detectors(self) -> int:
        """Number of native detectors that there are."""
        return len(self._detectors)

    def forget(self, slot: int) -> None:
        """Put ``slot`` into its first state. The library has no reset: a new one, in 0.15 ms."""
        self.release(slot)
        self._detectors[slot] = Detector(self._library)

    def run(self, slots: Sequence[int], windows: Sequence[bytes]) -> list[float]:
        """Return the speech probability of one window for each of ``slots``.

        The library knows no batches: a window takes about 70 µs, alone or among others.
        """
        return [self._of(slot).process(window) for slot, window in zip(slots, windows, strict=True)]

    def _of(self, slot: int) -> Detector:
        if slot not in self._detectors:  # its forget failed: one device's fault, not the batch's
            self.forget(slot)
        return self._detectors[slot]

    def release(self, slot: int) -> None:
        """Destroy the slot's native detector, if it has one."""
        if (detector := self._detectors.pop(slot, None)) is not None:
            detector.destroy()

    def close(self) -> None:
        """Destroy all of them."""
        for slot in tuple(self._detectors):
            self.release(slot)
