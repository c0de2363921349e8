"""The vision service: a vision provider behind the endpoint for cameras."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vixio.core.errors import ProviderTimeout
from vixio.core.metrics import Counters
from vixio.providers.vision import Photo, VisionProvider
from vixio.transports.admission.auth import TokenAuthenticator
from vixio.web.http.routes.vision import VisionEndpoint, VisionSettings
from vixio.web.http.vision_offer import VisionOffer

if TYPE_CHECKING:
    from starlette.routing import Route


class VisionService:
    """Offers cameras an address for their photos, and has a vision provider explain them.

    ``http_port`` returns the HTTP server's port once it is known. ``secret`` signs the sessions'
    tokens; processes that serve one port share it, otherwise it is random. ``timeout``: seconds
    for one photo.
    """

    def __init__(
        self,
        provider: VisionProvider,
        counters: Counters,
        secret: str = "",
        *,
        timeout: float,
        language: str,
        photos_per_device: int,
    ) -> None:
        self.provider = provider
        self._timeout = timeout
        self._language = language
        self._photos_per_device = photos_per_device
        self._counters = counters
        # The end of its session ends a token, whatever the wall clock is set to meanwhile.
        tokens = TokenAuthenticator(secret or secrets.token_hex(32), clock=lambda: 0.0)
        self.offer = VisionOffer(tokens=tokens)

    def routes(self, is_live: Callable[[str, str], bool]) -> Sequence[Route]:
        """Return the endpoint. ``is_live``: whether a session (its id, its device) runs."""
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
