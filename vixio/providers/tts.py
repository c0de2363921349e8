"""Speech synthesis: a sentence in, PCM out as it is made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class VoiceChoice:
    """A voice that a provider can speak with."""

    name: str
    language: str = ""
    """BCP 47; empty: not known."""
    about: str = ""
    """In a few words, such as female."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The options of the provider's section that choose it."""


class TTSProvider(ABC):
    """A voice shared by the process."""

    name: str
    sample_rate: int
    """Rate (Hz) of the PCM it yields; known after :meth:`start`."""
    pauses: bool = True
    """Whether the speech of a sentence ends in a pause, as that of most voices does."""
    typical: bool = True
    """Whether the sentence that it spoke last would always sound so: whole, and not in the voice
    that stands in for another one."""

    @abstractmethod
    async def start(self) -> None:
        """Load what is heavy, off the event loop. Idempotent."""

    def turn(self) -> TTSProvider:
        """Return the voice of one reply; most have nothing to remember within one.

        One that speaks a reply in one piece, for its melody and to ask for the next sentence while
        one is spoken, learns of the reply by :meth:`expect`, :meth:`complete` and :meth:`leave`.
        """
        return self

    def expect(  # noqa: B027 - optional hook, not abstract
        self, text: str, *, language: str = "", emotion: str = ""
    ) -> None:
        """Prepare for ``text``, which is asked for behind what was expected before.

        It may never be asked for, if the reply ends before. A text that was not expected is a
        speech of its own. ``emotion``: a name of :data:`vixio.core.emotions.EMOTIONS`. Must return
        at once.
        """

    def complete(self) -> None:  # noqa: B027 - optional hook, not abstract
        """Note that nothing more is expected in this reply. Must return at once."""

    async def leave(self) -> None:  # noqa: B027 - optional hook, not abstract
        """End the reply: it is over, or given up. Idempotent, never raises."""

    @abstractmethod
    def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Yield the PCM of ``text`` in chunks of any size, the first as early as possible.

        ``language`` (BCP 47) may choose the voice; empty means the configured one. Closing the
        iterator stops the work behind it. Raises ProviderError; yields nothing for silence.
        """

    @abstractmethod
    async def close(self) -> None:
        """End workers and connections."""
