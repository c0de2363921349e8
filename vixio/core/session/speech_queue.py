"""The speeches that wait for their turn, by priority."""

from __future__ import annotations

import math

from vixio.core.session.speech import Priority, SpeechHandle, SpeechStatus

MAX_WAITING = 16
"""Speeches of one session. More would play for minutes; the newest is refused."""

QUIET_S = 2.0
"""Seconds without a voice and without a reply that make a pause for :attr:`Priority.LOW`."""

SOUND_QUIET_S = 3.0
"""The same before a sound goes on that was cut: a user who has said a wake word may still think."""


class SpeechQueue:
    """Pure: time comes in from outside. Higher priorities first, each in the order of arrival."""

    def __init__(self) -> None:
        self._waiting: list[SpeechHandle] = []
        self._quiet_since = -math.inf

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, handle: SpeechHandle, *, first: bool = False) -> None:
        """Queue a speech, ``first`` of its priority or last; a sound, which may last for hours,
        behind all words. Over the limit it is dropped."""
        if len(self._waiting) >= MAX_WAITING:
            handle.end(SpeechStatus.DROPPED)
            return
        for index, other in enumerate(self._waiting):
            if handle.sound is not None:
                continue
            before = other.priority < handle.priority or other.sound is not None
            if before or (first and other.priority == handle.priority):
                self._waiting.insert(index, handle)
                return
        self._waiting.append(handle)

    def remove(self, handle: SpeechHandle) -> bool:
        """Take a speech back; return whether it waited."""
        if handle not in self._waiting:
            return False
        self._waiting.remove(handle)
        return True

    def disturbed(self, now: float) -> None:
        """There was a voice or a reply: a pause begins anew."""
        self._quiet_since = now

    @property
    def leaving(self) -> bool:
        """Whether a goodbye is among them."""
        return any(each.farewell for each in self._waiting)

    @property
    def urgent(self) -> bool:
        """Whether the first speech has a high priority."""
        return bool(self._waiting) and self._waiting[0].priority is Priority.HIGH

    @property
    def due(self) -> float | None:
        """When the first speech may be played, given that the floor is free; None: none waits."""
        if not self._waiting:
            return None
        if self._waiting[0].priority is not Priority.LOW:
            return -math.inf
        quiet = QUIET_S if self._waiting[0].sound is None else SOUND_QUIET_S
        return self._quiet_since + quiet

    def take(self, now: float) -> SpeechHandle | None:
        """Return the speech to play now, if any is due."""
        due = self.due
        return self.pop() if due is not None and due <= now else None

    @property
    def sounds(self) -> bool:
        """Whether a sound waits to go on."""
        return any(each.sound is not None for each in self._waiting)

    def end_sounds(self) -> None:
        """Let no sound go on that waits."""
        for handle in [each for each in self._waiting if each.sound is not None]:
            self._waiting.remove(handle)
            handle.end(SpeechStatus.INTERRUPTED)

    def pop(self) -> SpeechHandle:
        """Return the first speech, due or not."""
        return self._waiting.pop(0)
