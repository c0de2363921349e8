"""The section ``reminders``: what the assistant says first."""

from __future__ import annotations

from pydantic import Field

from vixio.settings.sections import Section


class RemindersSection(Section):
    """Reminders, timers, alarms, messages between devices. See docs/data.md."""

    enabled: bool = True
    """Whether there are the tools, and anything is delivered."""
    expire_after: float = Field(default=24, gt=0, le=720, allow_inf_nan=False)
    """Hours for which a device that is not connected may miss it; timers, alarms and announcements
    expire after one hour at most."""
    per_device: int = Field(default=100, ge=1, le=10_000)
    """How many may wait for one device."""
