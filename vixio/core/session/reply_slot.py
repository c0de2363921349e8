"""The one reply that is made or played, and how it is cut."""

from __future__ import annotations

from vixio.core.history import History
from vixio.core.pacer import Pacer
from vixio.core.session.reply import Reply
from vixio.core.session.speech import SpeechStatus
from vixio.core.session.speech_queue import SpeechQueue
from vixio.core.transport import DeviceConnection
from vixio.core.turns.floor import Action, Floor

GIVES_WAY = frozenset({"superseded", "continued", "listen", "failed"})
"""Causes for which a speech that was not heard yet is said later: the user speaks."""


class ReplySlot:
    """Holds a reply from its start to its end."""

    def __init__(
        self, connection: DeviceConnection, history: History, speeches: SpeechQueue, floor: Floor
    ) -> None:
        self.reply: Reply | None = None
        self.last_cut: Pacer | None = None
        """Of the reply that was cut last while the device played it."""
        self._connection = connection
        self._history = history
        self._speeches = speeches
        self._floor = floor

    async def cut(self, cause: str) -> bool:
        """End the reply; return whether ``tts stop`` was sent."""
        reply, self.reply = self.reply, None
        if reply is None or not reply.active:
            return False
        speaking = reply.speaking
        reply.interrupt(cause)
        self._floor.sounds_until(reply.pacer.plays_until)
        await reply.pacer.stopped()
        if speaking:
            self.last_cut = reply.pacer
            await self._connection.send_speech_stop()
        self._settle(reply, cause)
        return speaking

    def cut_for_more(self, reply: Reply) -> None:
        """End a reply that was not heard: the user goes on with what they were saying."""
        reply.interrupt("continued")
        self._settle(reply, "continued")

    def hang_up(self) -> None:
        """The connection is gone: what was heard stays in the history."""
        if self.reply is not None and self.reply.active:
            self.reply.interrupt("disconnected")
            self._settle(self.reply, "disconnected")

    def hold(self, action: Action) -> None:
        """Pause the reply or play on, as ``action`` says; other actions do nothing here."""
        if self.reply is None:
            return
        if action is Action.PAUSE:
            self.reply.pacer.pause()
        elif action is Action.RESUME:
            self.reply.pacer.resume()

    def _settle(self, reply: Reply, cause: str) -> None:
        """A speech that gave way to the user before it was heard waits for its turn again."""
        handle = reply.speech
        if handle is None or handle.done:
            return
        if reply.heard or handle.question or cause not in GIVES_WAY:
            heard = reply.pacer.heard_text() if reply.heard else ""
            ended = SpeechStatus.DROPPED if cause == "disconnected" else SpeechStatus.INTERRUPTED
            handle.end(SpeechStatus.INTERRUPTED if reply.heard else ended, heard)
        elif handle.remembered:
            self._history.forget(reply.turn.turn_id)
            self._speeches.add(handle, first=True)
        else:
            handle.end(SpeechStatus.DROPPED)
