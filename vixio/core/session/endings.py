"""What ends on a device takes time there: a speech, a notice on its screen, the connection.

The firmware shows an alert in the task that reads the socket, but handles ``tts stop`` and the
close in its main task (main/application.cc, InitializeProtocol). Both lead to Idle there, after
``tts stop`` with push-to-talk only, and Idle clears the screen (HandleStateChangedEvent,
OnAudioChannelClosed). So an alert that is sent right before either, or right behind ``tts stop``,
is wiped within milliseconds.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final

from vixio.core.chunk import ListenMode
from vixio.core.clock import now
from vixio.core.messages import message, reason
from vixio.core.messages.fault import Fault
from vixio.core.session.session_floor import SessionFloor
from vixio.core.transport import DeviceConnection
from vixio.core.waiters import Waiters

NOTICE_S: Final = 3.0
"""For which a notice stands before the server closes the connection."""

STOP_S: Final = 0.5
"""In which a device has handled ``tts stop``. Clients in which that takes several steps go on with
them behind a close, and listen then on a closed connection (py-xiaozhi, ConversationSession)."""

LISTENS_S: Final = 0.1
"""The same from the ``listen start`` on that answers it: py-xiaozhi sends it as the first step."""

HOLD_S: Final = 0.15
"""From ``abort`` to ``tts stop``. A press of the push-to-talk button and a wake word send ``listen
start`` right behind the ``abort`` (main/application.cc, HandleStartListeningEvent); the chat button
does not, and the device speaks on until the stop (HandleToggleChatEvent)."""

CROSSING_S: Final = 0.5
"""A device that is told to speak may have sent ``abort`` or ``listen start`` before it knew."""

Alert = tuple[str, str, str]
"""Status, message and emotion of an alert."""


class Endings:
    """Ends what the device of one session plays and shows, and at last its connection.

    ``spawn`` starts a task of the session.
    """

    def __init__(
        self,
        connection: DeviceConnection,
        floor: SessionFloor,
        spawn: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self._connection = connection
        self._floor = floor
        self._spawn = spawn
        self._changed = Waiters()
        self._stop_settled_at = -math.inf
        self._notice_read_at = -math.inf
        self._held = False
        """Whether a ``tts stop`` is held back: the device may be about to listen."""
        self._firm = False
        """Whether it is sent even if the device listens: it has been told to speak."""
        self._stopping = asyncio.Lock()
        self._later: Alert | None = None
        """A notice that waits until ``tts stop`` has been handled."""

    @property
    def closes_at(self) -> float:
        """When the connection may be closed; in the past if nothing has to be waited for."""
        return max(self._notice_read_at, self._stop_settled_at)

    async def stop_speech(self) -> None:
        """Send ``tts stop``. Raises ConnectionClosed."""
        async with self._stopping:
            self._held = False
            await self._connection.send_speech_stop()
        self._stop_settled_at = now() + STOP_S

    async def silence(self) -> None:
        """Send ``tts stop``, and have the device drop what it has not played.

        It is told to speak again, which empties its decoder
        (:meth:`vixio.core.pacer.Pacer.silence`), and soon to stop. Only for a device with an open
        microphone. Raises ConnectionClosed.
        """
        async with self._stopping:
            self._held = False
            await self._connection.send_speech_stop()
            await self._connection.send_speech_start()
            self.hold_stop()
            self._firm = True

    def hold_stop(self) -> None:
        """Send ``tts stop`` soon, unless the device listens before.

        Clients take a stop behind their ``listen start`` for the end of the user's turn.
        """
        if not self._held:
            self._held = True
            self._stop_settled_at = now() + HOLD_S + STOP_S
            self._spawn(self._stop_later())

    async def _stop_later(self) -> None:
        await asyncio.sleep(HOLD_S)
        await self.release_stop()

    async def release_stop(self) -> None:
        """Send a ``tts stop`` that is held back: what follows must come behind it."""
        async with self._stopping:
            held, self._held, self._firm = self._held, False, False
            if held:
                await self._connection.send_speech_stop()
                self._stop_settled_at = now() + STOP_S

    async def stop_speech_with(self, notice: Alert | None) -> None:
        """Send ``tts stop`` and show a notice where the device keeps it. Raises ConnectionClosed.

        In front of it where the microphone opens then, since the device plays a sound with it
        (Application::Alert), which would be heard; behind it where the device becomes idle.
        """
        if notice is None:
            await self.stop_speech()
        elif self._floor.mode is ListenMode.MANUAL:
            await self.stop_speech()
            self.show_later(notice)
        else:
            try:
                await self.show(notice)
            finally:
                await self.stop_speech()

    async def show(self, notice: Alert) -> None:
        """Show a notice now. Raises ConnectionClosed."""
        await self._connection.send_alert(*notice)
        self._notice_read_at = now() + NOTICE_S
        self._changed.wake()

    async def hang_up(self, why: str) -> None:
        """End the conversation, which takes as long on the device. Raises ConnectionClosed."""
        await self._connection.hang_up(why)
        self._stop_settled_at = now() + STOP_S

    def show_later(self, notice: Alert) -> None:
        """Show a notice once the device has handled ``tts stop``, unless it goes on before."""
        wait = self._stop_settled_at - now()
        self._later = notice
        self._notice_read_at = now() + max(0.0, wait) + NOTICE_S
        self._spawn(self._show_later(notice, wait))

    async def _show_later(self, notice: Alert, wait: float) -> None:
        if wait > 0:
            await asyncio.sleep(wait)
        if self._later is notice:
            self._later = None
            await self.show(notice)

    def go_on(self) -> None:
        """Note that the user begins anew: a notice that is not shown yet is out of date."""
        if self._later is not None:
            self._later = None
            self._notice_read_at = -math.inf
            self._changed.wake()

    def listens(self) -> None:
        """Note a ``listen start``, which answers ``tts stop`` and makes one needless."""
        self._held = self._firm
        settled_at = now() + LISTENS_S
        if settled_at < self._stop_settled_at:
            self._stop_settled_at = settled_at
            self._changed.wake()

    async def settled(self) -> None:
        """Wait until everything has been taken in: some seconds at most."""
        while (wait := self.closes_at - now()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._changed.wait()

    async def close(self, code: int, reason: str) -> None:
        """Close the connection once everything has been taken in.

        A device that closes it first ends the session, and a task of it that waits here.
        """
        await self.settled()
        await self._connection.close(code, reason)


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
