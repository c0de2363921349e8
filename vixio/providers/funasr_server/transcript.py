"""The words of one utterance as they arrive, and when they are complete. No I/O, no clock.

The protocol leaves open how a client knows the last result, and the servers differ:

==================== ===================================== ===================================
server               a segment that its own VAD ended      after the end of the utterance
==================== ===================================== ===================================
C++, 2pass           ``is_final`` false                    exactly one with ``is_final`` true
C++, offline         none                                  one, ``is_final`` false
Python, since 2026   ``is_final`` true                     the acknowledgement of ``is_end``
Python, before       ``is_final`` true                     ``is_final`` false; online: nothing
==================== ===================================== ===================================

So the first utterance may have to wait until the server has been quiet for a while; what it then
turned out to be holds for the next ones, which wait for nothing but their last result.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from vixio.providers.funasr_server.messages import Result
from vixio.providers.sensevoice_tags import TaggedText, join_segments, parse_tags

SETTLE: Final = 0.5
"""Seconds of quiet after a result that looks like the last one."""

SETTLE_LONG: Final = 2.0
"""The same where nothing looks so: a slow server works on the last segment meanwhile."""


class Ending(Enum):
    """How a server shows that the words are complete."""

    UNKNOWN = auto()
    ACKNOWLEDGED = auto()
    FINAL = auto()
    NOT_FINAL = auto()
    QUIET = auto()


class Habits:
    """What has been learned about one server."""

    def __init__(self) -> None:
        self.ending = Ending.UNKNOWN

    def doubt(self) -> None:
        """Forget it: something arrived late, or did not arrive."""
        self.ending = Ending.UNKNOWN


class Transcript:
    """One utterance. ``online``: whether there is only a first pass."""

    def __init__(self, habits: Habits, *, online: bool) -> None:
        self._habits = habits
        self._online = online
        self._segments: list[str] = []
        self._first_pass: list[str] = []
        self._ended = False
        self._final_before = False
        self._last: Result | None = None
        """The latest result after the end."""
        self.complete = False

    @property
    def words(self) -> TaggedText:
        """The words so far; those of the first pass until the second has replaced them."""
        return parse_tags(join_segments([*self._segments, *self._first_pass]))

    def end(self) -> None:
        """The server is told now that the utterance is over."""
        self._ended = True

    def take(self, result: Result) -> None:
        """Take what the server says of this utterance, errors apart."""
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
                # Only of "2pass-offline" is there a server that has more to say after this.
                if result.mode == "offline" or self._final_before:
                    self._habits.ending = Ending.NOT_FINAL
                    return True
        return False

    @property
    def patience(self) -> float | None:
        """Seconds of quiet after which it counts as complete; None: a result has to come."""
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
        """The server has been quiet for as long as :attr:`patience` says."""
        self.complete = True
        if self._last is not None and self._last.is_final:
            self._habits.ending = Ending.FINAL
        else:
            self._habits.ending = Ending.QUIET if self._online else Ending.NOT_FINAL
