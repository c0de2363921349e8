"""Speech recognition: one stream per utterance, fed while the user speaks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from vixio.core.chunk import Alternative, Completeness
from vixio.core.tools.types import ToolDefinition


@dataclass(frozen=True, slots=True)
class SpeechHints:
    """What the user may say, for recognisers that can be biased.

    ``tools``: the session's current tools, aliases set. ``language``: BCP 47, empty if unknown.
    ``phrases``: what the user may say besides, such as the device's own exit phrases.
    """

    tools: Sequence[ToolDefinition] = ()
    language: str = ""
    phrases: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Recognition:
    """The words of one utterance.

    ``rejected``: speech was heard, but its words would be a guess; ``text`` is then empty, and
    ``guess`` has them where the provider knows any. Perhaps nobody said them: nothing acts on them.
    ``confidence``: 0…1 where the provider has one. ``language``, ``emotion``: where it knows them.
    ``completeness``: where it knows the sentences that can be said, and this is one of them, or the
    beginning of one (``text`` is then empty).
    ``alternatives``: what may have been said, where a value such as a number is uncertain; nothing
    is to be done before somebody has said which. ``text`` is then the likeliest.
    """

    text: str
    rejected: bool = False
    confidence: float | None = None
    language: str = ""
    emotion: str = ""
    completeness: Completeness | None = None
    guess: str = ""
    alternatives: tuple[Alternative, ...] = ()


class ASRStream(ABC):
    """The recognition of one utterance."""

    gathers: ClassVar[bool] = False
    """Whether audio has no effect before :meth:`finish`: it is then fed in pieces of about a second
    instead of packet by packet."""
    partial: str = ""
    """The words found so far, where the recogniser has partial results; they may change."""
    on_partial: Callable[[str], None] | None = None
    """Called on the event loop whenever :attr:`partial` changes, until the stream is finished or
    closed. Set by the user of the stream; must return at once."""

    @abstractmethod
    async def feed(self, pcm: bytes) -> None:
        """Take more 16 kHz PCM. May wait when the recogniser is behind; raises ProviderError."""

    def update_hints(self, hints: SpeechHints) -> None:  # noqa: B027 - optional hook, not abstract
        """Replace the hints of this utterance, its earlier audio included; must return at once.

        Called before :meth:`finish`. Recognisers that cannot change them under way ignore it.
        """

    @abstractmethod
    async def finish(self) -> Recognition:
        """End the utterance and return its words; raises ProviderError."""

    @abstractmethod
    async def close(self) -> None:
        """Release everything, whether finished or not. Idempotent, never raises."""

    def report_partial(self, text: str) -> None:
        """Set :attr:`partial` and report the change. For implementations."""
        if text == self.partial:
            return
        self.partial = text
        if text and self.on_partial is not None:
            self.on_partial(text)


class ASRProvider(ABC):
    """A recogniser shared by the process."""

    name: str

    @property
    def closed_vocabulary(self) -> bool:
        """Whether it recognises nothing but what the hints name.

        An utterance of such a recogniser is finished only when the tools of a device that has just
        connected are known, within a time limit.
        """
        return False

    @property
    def hears_freely(self) -> bool:
        """Whether it also hears words that no hint names: "stop" over a speech, or a remark."""
        return not self.closed_vocabulary

    @abstractmethod
    async def start(self) -> None:
        """Load what is heavy, off the event loop. Idempotent."""

    @abstractmethod
    def open(self, hints: SpeechHints) -> ASRStream:
        """Begin an utterance."""

    def prepare(self, hints: SpeechHints) -> None:  # noqa: B027 - optional hook, not abstract
        """Prepare for the hints of the next utterance; must return at once."""

    @abstractmethod
    async def close(self) -> None:
        """End workers and connections; open streams fail."""
