"""TEN VAD as a VAD provider."""

from __future__ import annotations

from vixio.providers.batched_vad.provider import BatchedVADProvider, BatchSettings
from vixio.providers.registry import ProviderFactory
from vixio.providers.ten_vad.library import NAME, WINDOW, WINDOW_BYTES, load_library
from vixio.providers.ten_vad.model import TenModel


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
