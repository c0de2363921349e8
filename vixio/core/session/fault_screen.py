"""What a device shows when a turn has no answer."""

from __future__ import annotations

from vixio.core.messages import message, reason
from vixio.core.messages.fault import Fault
from vixio.core.session.endings import Alert


def apology(fault: Fault, language: str) -> Alert:
    """Return what is shown where nothing could be said."""
    status, emotion = fault.status(language)
    return status, fault.shown(language), emotion


def explanation(fault: Fault, language: str) -> Alert | None:
    """Return why a provider failed, to be shown once the apology has been heard; None: no reason.

    Not before: the device plays a sound with it (``Application::Alert``), from the queue that
    the speech is played from.
    """
    why = reason(fault.reason, language)
    return (message("error_status", language), why, "sad") if why else None
