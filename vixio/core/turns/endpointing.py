"""Endpointing: how much silence ends the user's turn.

A policy is pure: it reads no clock and does no I/O. It decides only how long a pause may last. The
turn detector measures the audio, bounds the length of a turn, and sets the deadlines for packets
that stop arriving. In manual mode the button ends the turn and no policy is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from vixio.core.chunk import ListenMode


@dataclass(frozen=True, slots=True)
class TurnProgress:
    """A turn in a pause. All times are seconds of audio.

    ``length``: since the turn began, pre-roll included. ``silence``: since the last voiced audio.
    ``pauses``: the earlier pauses of this turn, after which the user went on. ``partial``: the
    words recognised so far, empty if the recogniser gives no partial results.
    """

    mode: ListenMode
    length: float
    silence: float
    pauses: tuple[float, ...] = ()
    partial: str = ""


class EndpointingPolicy(Protocol):
    """Decides when a pause is the end of the turn. One instance serves one session."""

    def required_silence(self, progress: TurnProgress) -> float:
        """Return the seconds of silence that end this turn.

        Called for each packet of a pause and when a deadline has passed, so it must be cheap. The
        turn ends as soon as ``progress.silence`` reaches the returned value.
        """
        ...


EndpointingFactory = Callable[[], EndpointingPolicy]
"""Makes the policy of a new session."""


@dataclass(frozen=True, slots=True)
class FixedSilence:
    """Every pause of ``seconds`` ends the turn. The default."""

    seconds: float = 0.5

    def required_silence(self, progress: TurnProgress) -> float:
        """Return the fixed duration."""
        return self.seconds
