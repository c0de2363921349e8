"""Which microphone audio counts: the device's listening mode, and whether it is speaking."""

from __future__ import annotations

from vixio.core.chunk import ListenMode

WAKE_WINDOW_S = 1.0
"""The firmware sends ``listen start`` right behind a wake word's ``detect``
(main/application.cc, ContinueWakeWordInvoke); that one is no wish to interrupt."""


class ListenGate:
    """Open while audio of the user is welcome. Pure state; time comes in from outside."""

    def __init__(self) -> None:
        self.mode = ListenMode.AUTO
        self._microphone = False
        self._speaking = False
        self._wake_until = float("-inf")

    @property
    def open(self) -> bool:
        """Is audio to be listened to now?"""
        return self._microphone and (not self._speaking or self.mode is ListenMode.REALTIME)

    def start(self, mode: ListenMode) -> bool:
        """``listen start``; return false if it says nothing new."""
        news = not self._microphone or mode is not self.mode
        self._microphone = True
        self.mode = mode
        return news

    def stop(self) -> bool:
        """``listen stop``; return whether the microphone was on."""
        was_on = self._microphone
        self._microphone = False
        return was_on

    def wake(self, now: float) -> None:
        """A wake word was announced."""
        self._wake_until = now + WAKE_WINDOW_S

    def follows_wake(self, now: float) -> bool:
        """Is this ``listen start`` the one that belongs to the wake word? Answers once."""
        follows = now <= self._wake_until
        self._wake_until = float("-inf")
        return follows

    def speaking(self, on: bool) -> None:
        """The device was told to speak, or to stop.

        After a reply the device listens again by itself in auto and realtime mode, and rests in
        manual mode (main/application.cc, OnIncomingJson "tts").
        """
        self._speaking = on
        if not on and self.mode is ListenMode.MANUAL:
            self._microphone = False
