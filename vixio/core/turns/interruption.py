"""Interruption by voice: pure, replaceable policies.

They decide about the user's voice only. Whatever the user does with the device (button, wake word,
typed text) interrupts in any case, see :mod:`vixio.core.turns.floor`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class Decision(Enum):
    """What the user's voice does to the speech that is playing."""

    IGNORE = "ignore"
    """Play on. Words that turn out to be a turn still replace the speech."""
    PAUSE = "pause"
    """Hold the speech; it resumes when the voice was no turn."""
    CUT = "cut"
    """End the speech."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """The user's voice over the assistant's speech.

    ``heard_ms``: how much of the speech was played when the voice began. ``text``: the words
    recognised so far, empty where the recogniser gives none. ``hears_freely``: whether the
    recogniser of this device hears more than its commands.
    """

    heard_ms: int
    text: str = ""
    hears_freely: bool = False


class InterruptionPolicy(Protocol):
    """Decides at the start of the voice, and again with each partial transcript.

    One instance serves one session.
    """

    def decide(self, overlap: Overlap) -> Decision:
        """Return what to do now."""
        ...


InterruptionFactory = Callable[[], InterruptionPolicy]
"""Makes the policy of a new session."""


class CutAtVoice:
    """Any voice ends the speech at once: for a recogniser that tells no cough from words."""

    def decide(self, overlap: Overlap) -> Decision:
        """Cut."""
        return Decision.CUT


@dataclass(frozen=True, slots=True)
class PauseAtVoice:
    """Holds the speech at a voice and cuts it at ``words`` words.

    A cough or a word to another person costs a pause instead of the answer. With a recogniser that
    gives no partial transcripts the complete utterance decides.
    """

    words: int = 2

    def decide(self, overlap: Overlap) -> Decision:
        """Pause until there are enough words."""
        text = overlap.text
        count = len(text.split()) if text.isascii() else len(text.replace(" ", ""))
        return Decision.CUT if count >= self.words else Decision.PAUSE


class ByRecogniser:
    """The default: :class:`PauseAtVoice` where the recogniser hears freely, since only then it
    tells a cough from words; :class:`CutAtVoice` elsewhere."""

    def __init__(self) -> None:
        self._policies: dict[bool, InterruptionPolicy] = {True: PauseAtVoice(), False: CutAtVoice()}

    def decide(self, overlap: Overlap) -> Decision:
        """Return what the one or the other says."""
        return self._policies[overlap.hears_freely].decide(overlap)
