"""Several vision providers: where one fails, the next one gets the same photo."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from vixio.core.errors import ProviderError, ProviderTimeout
from vixio.providers.fallback.availability import Place
from vixio.providers.fallback.candidates import Candidates, FallbackProvider
from vixio.providers.fallback.circuit_breaker import BreakerSettings
from vixio.providers.fallback.time_shares import equal_share
from vixio.providers.vision import Photo, VisionProvider


class FallbackVisionProvider(FallbackProvider[VisionProvider], VisionProvider):
    """``seconds``: for an answer, all providers together."""

    def __init__(
        self,
        providers: Sequence[VisionProvider],
        seconds: float = 20.0,
        breaker: BreakerSettings | None = None,
        places: Sequence[Place] = (),
    ) -> None:
        self.candidates = Candidates("vision", providers, breaker, places)
        self.name = self.candidates.name
        self._seconds = seconds

    async def explain(self, photo: Photo, question: str, *, language: str = "") -> str:
        """Ask one after the other; raises the first failure when all fail."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._seconds
        plan = self.candidates.plan()
        first: ProviderError | None = None
        for position, candidate in enumerate(plan):
            left = [each.group for each in plan[position:]]
            seconds = equal_share(self._seconds, deadline - loop.time(), left)
            attempt = self.candidates.attempt(candidate)
            try:
                async with asyncio.timeout(seconds if len(left) > 1 else None):
                    words = await candidate.provider.explain(photo, question, language=language)
                attempt.worked()
                return words
            except TimeoutError:
                failure = attempt.failed(
                    ProviderTimeout(candidate.name, "answer", round(seconds, 2))
                )
                first = first or failure
            except Exception as error:  # noqa: BLE001 - a defect counts as a failure
                failure = attempt.failed(error)
                first = first or failure
            finally:
                attempt.over()
        raise first or self.candidates.none_left()
