"""Puts a server's eyes together: the provider that sees, behind the endpoint for cameras."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vixio.core.errors import ProviderTimeout
from vixio.core.metrics import Counters
from vixio.providers.vision import Photo, VisionProvider
from vixio.settings import Settings
from vixio.transports.xiaozhi.auth import TokenAuthenticator
from vixio.transports.xiaozhi.vision import VisionEndpoint, VisionSettings
from vixio.transports.xiaozhi.vision_offer import VisionOffer

if TYPE_CHECKING:
    from starlette.routing import Route


class Eyes:
    """What the app starts and stops, and where the transport and the HTTP side get their parts.

    ``http_port`` tells the port once it is known. ``secret`` signs the sessions' tokens; processes
    that serve one port share it, else it is made anew.
    """

    def __init__(
        self,
        settings: Settings,
        provider: VisionProvider,
        counters: Counters,
        http_port: Callable[[], int],
        secret: str = "",
    ) -> None:
        self.provider = provider
        self._timeout = settings.timeouts.vision
        self._language = settings.assistant.language
        self._photos_per_device = settings.server.limits.photos_per_device
        self._counters = counters
        self.offer = VisionOffer(
            tokens=TokenAuthenticator(secret or secrets.token_hex(32)),
            port=http_port,
            public_host=settings.server.public_host,
        )

    def routes(self, is_live: Callable[[str, str], bool]) -> Sequence[Route]:
        """Return the endpoint; ``is_live`` tells whether a session (its id, its device) runs."""
        endpoint = VisionEndpoint(
            VisionSettings(
                offer=self.offer,
                explain=self.explain,
                is_live=is_live,
                photos_per_device=self._photos_per_device,
                counters=self._counters,
            )
        )
        return endpoint.routes()

    async def explain(self, image: bytes, media_type: str, question: str) -> str:
        """Answer a question about a photo in the assistant's language; raises ProviderError."""
        try:
            async with asyncio.timeout(self._timeout):
                return await self.provider.explain(
                    Photo(image, media_type), question, language=self._language
                )
        except TimeoutError:
            raise ProviderTimeout(self.provider.name, "answer", self._timeout) from None
