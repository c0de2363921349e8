"""How long a device has listened without anybody speaking."""

from __future__ import annotations

from vixio.core.chunk import ListenMode
from vixio.core.turns.floor import Floor, State

HELD_S = 5.0
"""When to look again while something is waited for."""

ANSWER_S = 15.0
"""For which a device that was idle listens behind what it was made to say."""


class IdleTime:
    """The idle time of one conversation. Pure: time comes in from outside.

    Only a device that listens by itself can be idle. One whose microphone is off hears nobody, and
    can be spoken to as long as its connection is open (docs/configuration.md).
    """

    def __init__(self, floor: Floor) -> None:
        self.limit = 0.0
        """Seconds; 0: none."""
        self._floor = floor
        self._since = 0.0
        self._held_until = 0.0

    def active(self, now: float) -> None:
        """Note that somebody did something, or was spoken to."""
        self._since = now

    def hold(self, now: float) -> None:
        """Note that something is waited for: look again in a while."""
        self._held_until = now + HELD_S

    def over_at(self, *, roused: bool) -> float | None:
        """When it is over, if nothing happens before; None: not at all.

        Only while the user is silent and no reply is made. ``roused``: nobody has asked for the
        conversation, and nobody may be there.
        """
        floor, limit = self._floor, self.limit
        if roused:
            limit = min(limit or ANSWER_S, ANSWER_S)
        if not limit or floor.state is not State.LISTENING:
            return None
        if floor.mode is ListenMode.MANUAL:
            return None  # the button is held; the longest utterance ends it
        return max(self._since + limit, self._held_until)
