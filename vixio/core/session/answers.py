"""How the user is answered: by the agent, by a goodbye, by words that there is no more today, or
by the question what was said."""

from __future__ import annotations

from dataclasses import replace

from vixio.core.chunk import UserTurn
from vixio.core.consent import is_no
from vixio.core.daily_turns import DailyTurns
from vixio.core.device import DeviceProfile
from vixio.core.greetings import WakeGreetings
from vixio.core.history import UserMessage
from vixio.core.messages import message
from vixio.core.roles import NO_ROLES
from vixio.core.session.ahead import AnswerAhead
from vixio.core.session.doubt import Doubt
from vixio.core.session.reply_slot import ReplySlot
from vixio.core.session.session_floor import SessionFloor
from vixio.core.session.speech import Farewell, SpeechHandle
from vixio.core.session.speech_queue import SpeechQueue
from vixio.core.station import StationContext
from vixio.core.turns.floor import Action, Input, State
from vixio.core.wordlists import exit_phrases


class Answers:
    """Starts the replies to the turns of one session, by the profile of its device."""

    def __init__(
        self,
        context: StationContext,
        floor: SessionFloor,
        slot: ReplySlot,
        speeches: SpeechQueue,
        daily_turns: DailyTurns,
        profile: DeviceProfile,
    ) -> None:
        self._context = context
        self._floor = floor
        self._slot = slot
        self._speeches = speeches
        self._daily_turns = daily_turns
        self.own = OwnWords(profile)
        """What the assistant says by itself."""
        self._turns_a_day = 0
        self._doubt: Doubt | None = None
        """What the user was asked to tell apart, until they say something."""

    def follow(self, profile: DeviceProfile, *, greet: bool = False) -> None:
        """Go on by another profile. ``greet``: a role that is new says who speaks now."""
        before, self.own = self.own, OwnWords(profile)
        if greet and self.own.role != before.role:
            self._speeches.add(self.own.introduction(before))
        self._turns_a_day = profile.daily_turns or 0
        if self._turns_a_day:
            self._daily_turns.expect(self._context.device_id)

    def would_ask(self, text: str) -> bool:
        """Whether the engine would be asked for the answer to these words of the user."""
        limit = self._turns_a_day
        left = not limit or self._daily_turns.taken(self._context.device_id) < limit
        return left and self._doubt is None and not self.own.ends_with(text)

    def begin(
        self, turn: UserTurn, *, counted: bool = False, ahead: AnswerAhead | None = None
    ) -> None:
        """Begin to answer, unless the device has had all its answers of today.

        ``counted``: whether a part of the turn was counted already. ``ahead``: the answer, under
        way.
        """
        doubt, turn = self._doubt, self._settled(turn)
        if turn.alternatives:
            self._ask(turn)
            return
        if doubt is not None and not turn.commanded and is_no(turn.text):
            text = message("cancelled", self._context.language)
            self._slot.start(turn, speech=SpeechHandle(text, items=[UserMessage(turn.text)]))
            return
        device_id, limit = self._context.device_id, self._turns_a_day
        if counted or not turn.understood or self._daily_turns.take(device_id, limit):
            self._slot.start(turn, ahead=ahead)
        else:
            if ahead is not None:
                ahead.drop()
            self._context.counters.add("turn.over_daily_limit")
            self._slot.start(turn, speech=self.own.daily_limit())

    def _settled(self, turn: UserTurn) -> UserTurn:
        """Return the turn with the sentence that was meant, if it says which of those in doubt."""
        if self._doubt is None or not turn.understood or turn.commanded:
            return turn
        doubt, self._doubt = self._doubt, None
        doubt.over = True
        chosen = doubt.chosen(turn)
        return turn if chosen is None else replace(turn, text=chosen, alternatives=())

    def _ask(self, turn: UserTurn) -> None:
        """Ask which of the turn's alternatives was said."""
        self._doubt = doubt = Doubt(turn.alternatives, self._context.language)
        self._context.counters.add("turn.asked_which")
        items = [UserMessage(turn.text)]
        self._slot.start(turn, speech=SpeechHandle("", items=items, script=doubt))

    async def leave(self, turn: UserTurn) -> None:
        """The user ends the conversation: say goodbye, behind the answer to what was said before.

        Whatever is said until the goodbye is heard is answered first; it is said nevertheless.
        """
        goodbye, pending = self.own.goodbye(turn), self._slot.reply
        if self._slot.uninterruptible or self._floor.state is State.THINKING:
            self._context.end_timeline(turn.turn_id)
            speech = pending.speech if pending is not None else None
            if not (self._speeches.leaving or (speech is not None and speech.farewell)):
                self._speeches.add(goodbye)
            return
        if Action.CUT in self._floor.step(Input.TURN):
            await self._slot.cut("superseded")
        self._slot.start(turn, speech=goodbye)


class OwnWords:
    """The words for one device, by its profile."""

    def __init__(self, profile: DeviceProfile) -> None:
        self._language = profile.language
        self.role = profile.role
        self._called = (profile.roles or NO_ROLES).called(profile.role, profile.language)
        self._greetings = WakeGreetings.of(profile.wake_greeting)
        self._exits = exit_phrases(profile.language, profile.exit_phrases, profile.name)

    def wakes(self, text: str) -> bool:
        """Whether ``text`` is a wake word that the profile names an answer for."""
        return self._greetings.names(text)

    def greeting(self, wake_word: str) -> SpeechHandle | None:
        """Return the answer to a wake word; None: there is none."""
        text = self._greetings.greeting(wake_word)
        return SpeechHandle(text, remembered=False, recurring=True) if text else None

    def introduction(self, before: OwnWords) -> SpeechHandle:
        """Return what is said first in another role, or back in the own one, after ``before``: its
        greeting, where it has one of its own."""
        text = self._greetings.greeting("") if self._greetings != before._greetings else ""
        if not text and self.role:
            text = message("role_here", self._language, role=self._called)
        text = text or message("role_back", self._language)
        return SpeechHandle(text, remembered=False, recurring=True)

    def ends(self, turn: UserTurn) -> bool:
        """Return whether the user ends the conversation by these words."""
        return turn.understood and not turn.commanded and self.ends_with(turn.text)

    def ends_with(self, text: str) -> bool:
        """Return whether the user's words ``text`` end the conversation."""
        return text in self._exits

    def goodbye(self, turn: UserTurn) -> SpeechHandle:
        """Return the answer to words that end the conversation."""
        text = message("goodbye", self._language)
        items = [UserMessage(turn.text)]
        return SpeechHandle(text, items=items, recurring=True, farewell=Farewell.USER)

    def daily_limit(self) -> SpeechHandle:
        """Return what is said in the place of an answer when there have been enough today."""
        text = message("daily_limit", self._language)
        return SpeechHandle(text, remembered=False, recurring=True)

    def idle_goodbye(self) -> SpeechHandle:
        """Return what is said when nobody has spoken for long."""
        text = message("goodbye_idle", self._language)
        return SpeechHandle(text, remembered=False, recurring=True, farewell=Farewell.IDLE)
