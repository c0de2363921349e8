"""Vision: a photo and a question in, words out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Photo:
    """An image as a camera made it, held in memory only.

    ``media_type``: what its content says it is, as ``image/jpeg``.
    """

    data: bytes
    media_type: str


class VisionProvider(ABC):
    """A model that sees, shared by the process."""

    name: str

    @abstractmethod
    async def start(self) -> None:
        """Load what is heavy, off the event loop. Idempotent."""

    @abstractmethod
    async def explain(self, photo: Photo, question: str, *, language: str = "") -> str:
        """Answer ``question`` about ``photo`` in plain words.

        ``language`` (BCP 47) is the one to answer in; empty: that of the question. Cancelling it
        gives up the request. Raises ProviderError.
        """

    @abstractmethod
    async def close(self) -> None:
        """End connections; open questions fail."""
