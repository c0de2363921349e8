"""Speech recognition: one stream an utterance, fed while the user speaks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from vixio.core.tools.types import ToolDefinition


@dataclass(frozen=True, slots=True)
class SpeechHints:
    """What the user may be about to say, for recognisers that can be biased.

    ``tools``: the session's current tools, aliases set. ``language``: BCP 47, empty if unknown.
    """

    tools: Sequence[ToolDefinition] = ()
    language: str = ""


@dataclass(frozen=True, slots=True)
class Recognition:
    """The words of one utterance.

    ``rejected``: speech was heard, but to name its words would be a guess; ``text`` is then empty.
    ``confidence``: 0…1 where the provider has one. ``language``, ``emotion``: where it tells them.
    """

    text: str
    rejected: bool = False
    confidence: float | None = None
    language: str = ""
    emotion: str = ""


class ASRStream(ABC):
    """The recognition of one utterance."""

    partial: str = ""
    """The words found so far, where the recogniser tells them before the end; they may change."""

    @abstractmethod
    async def feed(self, pcm: bytes) -> None:
        """Take more 16 kHz PCM. May wait when the recogniser is behind; raises ProviderError."""

    @abstractmethod
    async def finish(self) -> Recognition:
        """Say that the utterance is over and return its words; raises ProviderError."""

    @abstractmethod
    async def close(self) -> None:
        """Give everything back, whether finished or not. Idempotent, never raises."""


class ASRProvider(ABC):
    """A recogniser shared by the process."""

    name: str

    @abstractmethod
    async def start(self) -> None:
        """Load what is heavy, off the event loop. Idempotent."""

    @abstractmethod
    def open(self, hints: SpeechHints) -> ASRStream:
        """Begin an utterance."""

    def prepare(self, hints: SpeechHints) -> None:  # noqa: B027 - optional hook, not abstract
        """Be told early what the next utterance's hints will be; must return at once."""

    @abstractmethod
    async def close(self) -> None:
        """End workers and connections; open streams fail."""
