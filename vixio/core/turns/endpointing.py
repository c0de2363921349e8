"""Endpointing: how much silence ends the user's turn.

A policy reads no clock and does no I/O. It decides only how long a pause may last. The turn
detector measures the audio, bounds the length of a turn, and sets the deadlines for packets that
stop arriving. In manual mode the button ends the turn and no policy is asked.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from vixio.core.chunk import Completeness, EarlyTranscript, ListenMode
from vixio.core.turns.completeness import completeness


@dataclass(frozen=True, slots=True)
class TurnProgress:
    """A turn in a pause. All times are seconds of audio.

    ``length``: since the turn began, pre-roll included. ``silence``: since the last voiced audio.
    ``pauses``: the earlier pauses of this turn, after which the user went on. ``partial``: the
    words recognised so far, empty if the recogniser gives no partial results. ``early``: what it
    made of all that was said before this pause, once that is known; ``words_due``: that is on its
    way. ``turn_id``: rises from turn to turn. ``since_last``: from the last voice of the turn
    before to the first of this one; None if there was none before.
    """

    mode: ListenMode
    length: float
    silence: float
    pauses: tuple[float, ...] = ()
    partial: str = ""
    early: EarlyTranscript | None = None
    language: str = ""
    turn_id: int = 0
    since_last: float | None = None
    words_due: bool = False


class EndpointingPolicy(Protocol):
    """Decides when a pause is the end of the turn. One instance serves one session."""

    def required_silence(self, progress: TurnProgress) -> float:
        """Return the seconds of silence that end this turn.

        Called for each packet of a pause and when a deadline has passed, so it must be cheap. The
        turn ends as soon as ``progress.silence`` reaches the returned value.
        """
        ...


OPINION_S: Final = 8
"""Seconds of a turn by which it is judged."""

EndpointingFactory = Callable[[], EndpointingPolicy]
"""Makes the policy of a new session."""


@dataclass(frozen=True, slots=True)
class FixedSilence:
    """Every pause of ``seconds`` ends the turn."""

    seconds: float = 0.5

    def required_silence(self, progress: TurnProgress) -> float:
        """Return the fixed duration."""
        return self.seconds


SHORTEST: Final = 0.45
LONGEST: Final = 2.0
"""Of the usual silence: how long a pause lasts behind a command that is known, and behind words
that only begin something."""
LONGEST_S: Final = 1.2
"""A longer wait would be taken for a deaf device; the usual silence may be longer by itself."""


def longest(usual: float) -> float:
    """Return how long a pause may last, in seconds, where ``usual`` is the silence that ends it."""
    return max(usual, min(LONGEST * usual, LONGEST_S))


def doubted(required: float, usual: float, early: EarlyTranscript | None) -> float:
    """Return the silence behind a turn that by its sound goes on: at least ``required``.

    Words that are known to be complete wait no longer.
    """
    if early is not None and early.completeness is Completeness.COMPLETE:
        return required
    return max(required, longest(usual))


HESITANT: Final = 0.6
"""By this share of the usual silence more for a person who pauses in each turn."""
LONG_PAUSE: Final = 0.6
"""Of the usual silence: pauses that are counted."""
RESUMED_S: Final = 1.5
"""Who speaks again so soon was cut off."""
LEARNING: Final = 0.2
"""Weight of the newest turn."""


@dataclass(slots=True)
class Hesitation:
    """How often the people at one device pause in a turn, 0 to 1; the newest turns count most."""

    often: float = 0.0

    def learn(self, paused: bool) -> None:
        """Take one turn into account."""
        self.often += LEARNING * (paused - self.often)


class AdaptiveSilence:
    """Waits ``seconds``, less behind a command that is known, longer behind a beginning.

    And longer for people who pause often, and while the words are on their way: an answer cannot
    begin before them anyway. The result is between :data:`SHORTEST` and :data:`LONGEST` times
    ``seconds``.
    """

    def __init__(self, seconds: float = 0.5, hesitation: Hesitation | None = None) -> None:
        self._usual = seconds
        self._longest = longest(seconds)
        self._hesitation = hesitation or Hesitation()
        self._turn: TurnProgress | None = None

    def required_silence(self, progress: TurnProgress) -> float:
        """Return the seconds for the words so far."""
        self._learn(progress)
        usual = min(self._usual * (1 + HESITANT * self._hesitation.often), self._longest)
        if (early := progress.early) is not None:
            known = early.completeness
        else:  # partial words may be without the last one, so they are never complete
            known = completeness(progress.partial, progress.language)
        if progress.words_due or known is Completeness.INCOMPLETE:
            return self._longest
        return SHORTEST * usual if known is Completeness.COMPLETE else usual

    def _learn(self, progress: TurnProgress) -> None:
        """Take the turn before into account as soon as there is another one."""
        before, self._turn = self._turn, progress
        if before is None or before.turn_id == progress.turn_id:
            return
        cut = progress.since_last is not None and progress.since_last <= RESUMED_S
        long = any(pause >= LONG_PAUSE * self._usual for pause in before.pauses)
        self._hesitation.learn(cut or long)


MAX_DEVICES: Final = 10_000
"""Devices whose hesitation is remembered; the one that was longest away is forgotten."""


class AdaptiveSilences:
    """Makes the policies of all sessions; remembers how often the people at each device pause."""

    def __init__(self, seconds: float = 0.5) -> None:
        self._seconds = seconds
        self._devices: OrderedDict[str, Hesitation] = OrderedDict()

    def policy(self, device_id: str) -> AdaptiveSilence:
        """Return the policy of a new session of a device."""
        known = self._devices.setdefault(device_id, Hesitation())
        self._devices.move_to_end(device_id)
        while len(self._devices) > MAX_DEVICES:
            self._devices.popitem(last=False)
        return AdaptiveSilence(self._seconds, known)
