"""Silero as a VAD provider."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vixio.providers.batched_vad.provider import BatchedVADProvider, BatchSettings
from vixio.providers.registry import ProviderFactory

if TYPE_CHECKING:
    from vixio.providers.silero_vad.model import SileroModel


class SileroSettings(BatchSettings):
    """Options of the section ``vad`` when its name is ``silero``.

    A batch of 128 takes about 1 ms.
    """


class SileroVADProvider(BatchedVADProvider):
    """Silero's network, shared by all devices of the event loop that started it."""

    name = "silero"
    window_samples = 512  # network.WINDOW, without its import

    def __init__(self, settings: SileroSettings | None = None) -> None:
        super().__init__(settings or SileroSettings())

    def load(self) -> SileroModel:
        """Return the network from the file in the ``silero-vad`` package."""
        # Here, in the thread that loads: numpy takes 0.1 s, and the settings import this module.
        from vixio.providers.silero_vad.model import WINDOW_BYTES, SileroModel, find_model

        model = SileroModel(find_model())
        # Warm-up: the first runs allocate.
        model.forget(0)
        model.run([0], [bytes(2 * WINDOW_BYTES)])
        return model


def _create(settings: SileroSettings) -> SileroVADProvider:
    return SileroVADProvider(settings)


FACTORY = ProviderFactory(settings_model=SileroSettings, create=_create)
