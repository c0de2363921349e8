"""Shows on the device why a turn has no answer."""

from __future__ import annotations

from vixio.core.messages import message, reason
from vixio.core.messages.fault import Fault
from vixio.core.transport import DeviceConnection


async def show_apology(connection: DeviceConnection, fault: Fault, language: str) -> None:
    """Show what could not be said."""
    status, emotion = fault.status(language)
    await connection.send_alert(status, fault.shown(language), emotion)


async def show_reason(connection: DeviceConnection, fault: Fault | None, language: str) -> None:
    """Show why a provider failed, once the apology has been heard.

    Not before: the device plays a sound with it (``Application::Alert``), from the queue that
    the speech is played from. Not behind ``tts stop``: its microphone would hear the sound.
    """
    if fault is not None and (why := reason(fault.reason, language)):
        await connection.send_alert(message("error_status", language), why, "sad")
