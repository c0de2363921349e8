"""How a session behaves."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, field

from vixio.core.daily_turns import DailyTurns
from vixio.core.device import DeviceProfile
from vixio.core.greetings import WakeGreetings
from vixio.core.pacer import PacerSettings
from vixio.core.session.events import EventBus
from vixio.core.timeouts import Timeouts
from vixio.core.turns.interruption import CutAtVoice, InterruptionFactory


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """How a session behaves.

    ``hold``: seconds for which a finished reply waits while the user speaks again; what is said on
    command waits without a limit. ``language`` and ``wake_reply`` are those of the default profile.
    ``max_reply``: seconds after which an answer ends at its next sentence; 0: no limit.
    ``filler_after``: seconds without an answer after which a few words are said; later again in a
    speech that falls silent; 0: never. Needs an engine whose ``speak`` may run beside its
    ``reply``. ``zone``: IANA name, of quiet hours; empty: that of the machine.
    """

    language: str = "en"
    wake_reply: str | WakeGreetings = ""
    hold: float = 3.0
    max_reply: float = 0.0
    filler_after: float = 0.0
    zone: str = ""
    timeouts: Timeouts = field(default_factory=Timeouts)
    pacer: PacerSettings = field(default_factory=PacerSettings)

    def default_profile(self) -> DeviceProfile:
        """Return the profile of a device that has none of its own."""
        return DeviceProfile(language=self.language, wake_greeting=self.wake_reply)


@dataclass(frozen=True, slots=True)
class SharedParts:
    """What all sessions of a process share. ``encoders``: threads for Opus; None: no threads."""

    events: EventBus = field(default_factory=EventBus)
    encoders: Executor | None = None
    interruption: InterruptionFactory = CutAtVoice
    daily_turns: DailyTurns = field(default_factory=DailyTurns)
