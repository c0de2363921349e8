"""Quiet hours: an idle device is left in peace by what nobody has asked for at that time."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from vixio.core.metrics import Counters
from vixio.core.quiet_hours import quiet_until
from vixio.core.session.speech import Priority, SpeechHandle, SpeechStatus
from vixio.core.session.speech_queue import SpeechQueue
from vixio.core.transport import DeviceConnection
from vixio.core.wall_clock import date_time, now_s

LOOK_S: Final = 60.0
"""How often it is looked at least whether quiet hours are over: the clock may be set."""


class Peace:
    """The quiet hours of one session. ``zone``: IANA name; empty: that of the machine."""

    def __init__(self, connection: DeviceConnection, zone: str, counters: Counters) -> None:
        self.hours = ""
        """As of the profile."""
        self.held = SpeechQueue()
        """What waits for their end, or for the user."""
        self._connection = connection
        self._zone = ZoneInfo(zone) if zone else None
        self._counters = counters

    @property
    def until(self) -> datetime | None:
        """When the device may be disturbed again by what nobody has asked for; None: it may now.

        One that the server has roused is disturbed already, but nobody has answered yet.
        """
        if self._connection.awake and not self._connection.roused:
            return None
        return quiet_until(self.hours, date_time(self._zone))

    def due(self, now: float) -> float | None:
        """Return when to look at what is held; None: nothing is. ``now``: on the loop's clock."""
        if not self.held:
            return None
        until = self.until
        return now + (min(until.timestamp() - now_s(), LOOK_S) if until is not None else 0.0)

    def keeps(self, handle: SpeechHandle) -> bool:
        """Whether a speech is not for quiet hours as they are now: it is refused, or held.

        A script knows by itself what it may say.
        """
        if handle.priority is Priority.HIGH or handle.script is not None:
            return False
        if (until := self.until) is None:
            return False
        self._counters.add("session.quiet_hours")
        if handle.patient:
            self.held.add(handle)
        else:
            handle.end(SpeechStatus.QUIET, until=f"{until:%H:%M}")
        return True

    def release(self, speeches: SpeechQueue) -> None:
        """Give what is held to ``speeches``, if it may be said now."""
        if self.held and self.until is None:
            while self.held:
                speeches.add(self.held.pop())
