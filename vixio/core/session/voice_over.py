"""The user's voice over the assistant's speech, which it holds, ends, or leaves alone."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from vixio.core.chunk import UserTurn
from vixio.core.session.reply_slot import ReplySlot
from vixio.core.session.session_floor import SessionFloor
from vixio.core.session.speech_queue import SpeechQueue
from vixio.core.station import StationContext
from vixio.core.turns.floor import Input
from vixio.core.turns.interruption import Decision, InterruptionPolicy, Overlap
from vixio.core.turns.remarks import Remark, remark


class VoiceOver:
    """Asks a policy while the user speaks, and looks at the words when they are complete.

    ``cut``: ends the speech. ``speeches``: those that wait.
    """

    def __init__(
        self,
        policy: InterruptionPolicy,
        floor: SessionFloor,
        slot: ReplySlot,
        context: StationContext,
        cut: Callable[[], Awaitable[None]],
        speeches: SpeechQueue,
    ) -> None:
        self._policy = policy
        self._floor = floor
        self._slot = slot
        self._context = context
        self._cut = cut
        self._speeches = speeches
        self._over: int | None = None
        """The newest utterance over a speech that it may end."""

    async def heard(self, turn_id: int, text: str = "") -> None:
        """Take the beginning of an utterance, or its words so far."""
        reply = self._slot.reply
        if reply is None or not (self._floor.audible and self._floor.full_duplex):
            return
        if not reply.interruptible:
            return
        self._over = turn_id
        match self._policy.decide(
            Overlap(reply.pacer.heard_ms(), text, self._context.hears_freely)
        ):
            case Decision.CUT:
                await self._cut()
            case Decision.PAUSE:
                self._slot.hold(*self._floor.step(Input.HUSH))
            case Decision.IGNORE:
                self._slot.hold(*self._floor.step(Input.RESUME))

    async def settles(self, turn: UserTurn) -> bool:
        """Take complete words; return whether they were a remark on the speech, and no turn."""
        tools = self._context.session_tools
        if not turn.understood or not (turn.turn_id == self._over or self._speeches.sounds):
            return False
        if tools is not None and tools.awaits_consent:
            return False  # it may be the answer
        said = remark(turn.text, turn.language or self._context.language)
        if said is Remark.STOP:
            if self._floor.audible:
                await self._cut()
            self._speeches.end_sounds()
        elif said is Remark.LISTENS and turn.turn_id == self._over and self._floor.audible:
            self._slot.hold(*self._floor.step(Input.NO_TURN))
        else:
            return False
        self._context.counters.add("turn.remarks")
        return True
