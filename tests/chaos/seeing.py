"""Vision provider of the server under attack."""

from __future__ import annotations

import asyncio

from tests.chaos.faults import meet
from tests.chaos.hearing import MEGABYTES
from tests.chaos.plan import Plan
from vixio.providers.vision import Photo, VisionProvider


class NumberVision(VisionProvider):
    """See how many bytes a photo has, unless the question names a fault."""

    name = "numbers"

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    async def start(self) -> None:
        """Nothing is heavy."""

    async def explain(self, photo: Photo, question: str, *, language: str = "") -> str:
        """Take a moment, as a model does."""
        await asyncio.sleep(0.05)
        await meet(question, self._plan)
        if question == "megabytes":
            return "x" * MEGABYTES
        return f"A photo of {len(photo.data)} bytes."

    async def close(self) -> None:
        """Nothing to release."""
