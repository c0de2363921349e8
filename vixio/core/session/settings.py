"""How a session and its replies behave."""

from __future__ import annotations

from dataclasses import dataclass, field

from vixio.core.pacer import PacerSettings


@dataclass(frozen=True, slots=True)
class ReplySettings:
    """Bounds of one reply, in seconds.

    ``timeout`` is for the making of it, not for the playing: the wait for the pacer's buffer does
    not count. ``apology_timeout`` bounds saying that something failed.
    """

    timeout: float = 60.0
    apology_timeout: float = 8.0
    pacer: PacerSettings = field(default_factory=PacerSettings)


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """How a session behaves.

    ``hold``: seconds for which a finished reply waits while the user speaks again.
    ``tool_list_wait``: seconds after the end of a turn for which it waits for the tools of a device
    that has just connected. ``language`` and ``wake_reply`` are those of the default profile.
    """

    language: str = "en"
    wake_reply: str = ""
    hold: float = 3.0
    tool_list_wait: float = 2.0
    reply: ReplySettings = field(default_factory=ReplySettings)
