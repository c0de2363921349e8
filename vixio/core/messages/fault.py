"""Why a turn has no answer, and the words for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from vixio.core.errors import ProviderError, ProviderTimeout, SoundFailed
from vixio.core.messages import LOADING, PARTS, REASONS, failure_key, message, reason


@dataclass(frozen=True, slots=True)
class Fault:
    """``key``: of the message when there is no better one. ``reason``, ``part``: of the failure."""

    key: str
    reason: str = ""
    part: str = ""

    @classmethod
    def of(cls, error: BaseException | None) -> Self:
        """Classify what ended a turn."""
        if isinstance(error, ProviderTimeout | TimeoutError):
            return cls("timeout", getattr(error, "reason", ""), getattr(error, "part", ""))
        if isinstance(error, ProviderError):
            return cls(failure_key(error.reason), error.reason, error.part)
        return cls(error.key if isinstance(error, SoundFailed) else "failed")

    def words(self, language: str) -> str:
        """Return what to say: the reason, if there is one that a user can do something with."""
        if not self._explained:
            return message(self.key, language)
        part = self.part if self.part in PARTS else "other"
        named = message(f"part_{part}", language)
        return message(f"cannot_{self.reason}", language, part=named)

    def shown(self, language: str) -> str:
        """Return the words for a screen, where nothing can be said."""
        words, why = self.words(language), reason(self.reason, language)
        return f"{words} ({why})" if why and not self._explained else words

    def status(self, language: str) -> tuple[str, str]:
        """Return the headline on the screen and the emotion with it."""
        if self.key == LOADING:
            return message("loading_status", language), "sleepy"
        return message("error_status", language), "sad"

    @property
    def _explained(self) -> bool:
        return self.key == "failed" and self.reason in REASONS and self.reason != "timeout"
