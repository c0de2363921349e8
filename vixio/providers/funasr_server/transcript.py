"""The transcript of one utterance, and when it is complete. No I/O, no clock.

The protocol does not define how a client recognises the last result, and the servers differ:

==================== ===================================== ===================================
server               after a segment of the server's VAD   after the end of the utterance
==================== ===================================== ===================================
C++, 2pass           ``is_final`` false                    exactly one with ``is_final`` true
C++, offline         none                                  one, ``is_final`` false
Python, since 2026   ``is_final`` true                     the acknowledgement of ``is_end``
Python, before       ``is_final`` true                     ``is_final`` false; online: nothing
==================== ===================================== ===================================

The first utterance may therefore wait until the server has been silent for a while. The ending that
it observed is used for the next ones, which wait only for their last result.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from vixio.providers.funasr_server.messages import Result
from vixio.providers.sensevoice_tags import TaggedText, join_segments, parse_tags

SETTLE: Final = 0.5
"""Seconds of silence after a result that may be the last one."""

SETTLE_LONG: Final = 2.0
"""Seconds of silence otherwise: a slow server may still decode the last segment."""


class Ending(Enum):
    """How a server signals that the transcript is complete."""

    UNKNOWN = auto()
    ACKNOWLEDGED = auto()
    FINAL = auto()
    NOT_FINAL = auto()
    QUIET = auto()


class Habits:
    """The observed behaviour of one server."""

    def __init__(self) -> None:
        self.ending = Ending.UNKNOWN

    def doubt(self) -> None:
        """Forget the ending, after a late or missing result."""
        self.ending = Ending.UNKNOWN


class Transcript:
    """One utterance's transcript. ``online``: whether there is only a first pass."""

    def __init__(self, habits: Habits, *, online: bool) -> None:
        self._habits = habits
        self._online = online
        self._segments: list[str] = []
        self._first_pass: list[str] = []
        self._ended = False
        self._final_before = False
        self._last: Result | None = None
        """The latest result after the end of the utterance."""
        self.complete = False

    @property
    def words(self) -> TaggedText:
        """The transcript so far; the text of the first pass until the second replaces it."""
        return parse_tags(join_segments([*self._segments, *self._first_pass]))

    def end(self) -> None:
        """Note that the end of the utterance is about to be sent."""
        self._ended = True

    def take(self, result: Result) -> None:
        """Take a result of this utterance that is not an error."""
        if result.second_pass:
            self._segments.append(result.text)
            self._first_pass.clear()
        else:
            self._first_pass.append(result.text)
        if result.ended:
            self._habits.ending = Ending.ACKNOWLEDGED
            self.complete = True
        elif not self._ended:
            self._final_before |= result.is_final
        else:
            self._last = result
            self.complete = self._is_last(result)

    def _is_last(self, result: Result) -> bool:
        match self._habits.ending:
            case Ending.FINAL:
                return result.is_final
            case Ending.NOT_FINAL:
                return result.second_pass and not result.is_final
            case Ending.UNKNOWN if result.second_pass and not result.is_final:
                # Only after "2pass-offline" can a server send more.
                if result.mode == "offline" or self._final_before:
                    self._habits.ending = Ending.NOT_FINAL
                    return True
        return False

    @property
    def patience(self) -> float | None:
        """Seconds of silence that complete the transcript; None: a result is required."""
        if not self._ended or self.complete:
            return None
        if self._habits.ending is Ending.QUIET:
            return SETTLE
        if self._habits.ending is not Ending.UNKNOWN:
            return None
        if self._last is None:
            return SETTLE_LONG if self._online else None
        return SETTLE if self._last.is_final else SETTLE_LONG

    def settle(self) -> None:
        """Complete the transcript: the server has been silent for :attr:`patience` seconds."""
        self.complete = True
        if self._last is not None and self._last.is_final:
            self._habits.ending = Ending.FINAL
        else:
            self._habits.ending = Ending.QUIET if self._online else Ending.NOT_FINAL
