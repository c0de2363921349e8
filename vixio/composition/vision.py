"""Makes the vision service of a server."""

from __future__ import annotations

from vixio.core.metrics import Counters
from vixio.http.vision_service import VisionService
from vixio.providers.pool.loader import ProviderLoader
from vixio.providers.pool.warming import WarmingVision
from vixio.providers.vision import VisionProvider
from vixio.settings import Settings


def make_vision(
    settings: Settings,
    loader: ProviderLoader[VisionProvider] | None,
    counters: Counters,
    secret: str,
) -> VisionService | None:
    """Return the service; None: photos are not looked at. ``secret`` signs cameras' tokens."""
    if loader is None:
        return None
    return VisionService(
        WarmingVision(loader),
        counters,
        secret,
        timeout=settings.timeouts.vision,
        language=settings.assistant.language,
        photos_per_device=settings.server.limits.photos_per_device,
    )
