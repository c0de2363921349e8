"""What the assistant says by itself: to a wake word, at the end, and when a limit is reached."""

from __future__ import annotations

from vixio.core.chunk import UserTurn
from vixio.core.device import DeviceProfile
from vixio.core.exit_phrases import exit_phrases
from vixio.core.greetings import WakeGreetings
from vixio.core.history import UserMessage
from vixio.core.messages import message
from vixio.core.session.speech import Farewell, SpeechHandle


class OwnWords:
    """The words for one device, by its profile."""

    def __init__(self, profile: DeviceProfile) -> None:
        self._language = profile.language
        self._greetings = WakeGreetings.of(profile.wake_greeting)
        self._exits = exit_phrases(profile.language, profile.exit_phrases, profile.name)

    def wakes(self, text: str) -> bool:
        """Whether ``text`` is a wake word that the profile names an answer for."""
        return self._greetings.names(text)

    def greeting(self, wake_word: str) -> SpeechHandle | None:
        """Return the answer to a wake word; None: there is none."""
        text = self._greetings.greeting(wake_word)
        return SpeechHandle(text, remembered=False, recurring=True) if text else None

    def ends(self, turn: UserTurn) -> bool:
        """Return whether the user ends the conversation by these words."""
        return turn.understood and not turn.commanded and turn.text in self._exits

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
