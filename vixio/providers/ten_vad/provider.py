"""TEN VAD as a VAD provider."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from vixio.providers.batched_vad.provider import BatchedVADProvider, BatchSettings
from vixio.providers.registry import ProviderFactory
from vixio.providers.ten_vad.library import NAME, WINDOW, WINDOW_BYTES, Detector, load_library


class TenSettings(BatchSettings):
    """Options of the section ``vad`` when its name is ``ten``; the same as Silero's."""


class TenVADProvider(BatchedVADProvider):
    """TEN VAD in one thread for all devices of the event loop that started it."""

    name = NAME
    window_samples = WINDOW

    def __init__(self, settings: TenSettings | None = None) -> None:
        super().__init__(settings or TenSettings())

    def load(self) -> TenModel:
        """Return the model, warmed up."""
        model = TenModel(load_library())
        model.forget(0)
        model.run([0], [bytes(WINDOW_BYTES)])
        model.release(0)
        return model


def _create(settings: TenSettings) -> TenVADProvider:
    return TenVADProvider(settings)


FACTORY = ProviderFactory(settings_model=TenSettings, create=_create)


class TenModel:
    """The worker's model. A slot has a native detector from ``forget`` to ``release``.

    Not thread-safe.
    """

    name = NAME
    window_bytes = WINDOW_BYTES

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self._detectors: dict[int, Detector] = {}

    @property
    def detectors(self) -> int:
        """Number of native detectors."""
        return len(self._detectors)

    def forget(self, slot: int) -> None:
        """Replace the detector of ``slot``, in 0.15 ms: the library has no reset."""
        self.release(slot)
        self._detectors[slot] = Detector(self._library)

    def run(self, slots: Sequence[int], pieces: Sequence[bytes]) -> list[list[float]]:
        """Return the speech probabilities of the successive windows of each of ``slots``.

        The library has no batching: each window takes about 70 µs.
        """
        return [self._heard(slot, piece) for slot, piece in zip(slots, pieces, strict=True)]

    def _heard(self, slot: int, pcm: bytes) -> list[float]:
        process = self._of(slot).process
        starts = range(0, len(pcm), WINDOW_BYTES)
        return [process(pcm[start : start + WINDOW_BYTES]) for start in starts]

    def _of(self, slot: int) -> Detector:
        if slot not in self._detectors:  # an earlier forget() failed
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
