"""Several eyes: where one fails, the next one gets the same photo."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.providers.chain.health import RestSettings
from vixio.providers.chain.members import Chain, Members, patience
from vixio.providers.vision import Photo, VisionProvider


class ChainVisionProvider(Chain[VisionProvider], VisionProvider):
    """``seconds``: for an answer, all providers together."""

    def __init__(
        self,
        providers: Sequence[VisionProvider],
        seconds: float = 20.0,
        rest: RestSettings | None = None,
    ) -> None:
        self.members = Members("vision", providers, rest)
        self.name = self.members.name
        self._seconds = seconds

    async def explain(self, photo: Photo, question: str, *, language: str = "") -> str:
        """Ask one after the other; raises the first one's failure when all fail."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._seconds
        plan = self.members.plan()
        first: ProviderError | None = None
        for position, member in enumerate(plan):
            left = len(plan) - position
            seconds = patience(self._seconds, deadline - loop.time(), left)
            attempt = self.members.attempt(member)
            try:
                async with asyncio.timeout(seconds if left > 1 else None):
                    words = await member.provider.explain(photo, question, language=language)
                attempt.worked()
                return words
            except TimeoutError:
                failure = attempt.failed(ProviderTimeout(member.name, "answer", round(seconds, 2)))
                first = first or failure
            except Exception as error:  # noqa: BLE001 - a member's defect is passed over as its errors are
                failure = attempt.failed(error)
                first = first or failure
            finally:
                attempt.over()
        raise first or ProviderError(self.name, "there is nobody to ask", retryable=False)
