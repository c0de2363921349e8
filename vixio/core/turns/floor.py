"""The floor of a conversation: a state machine of turn-taking, as a table.

Pure: inputs in, a new state and actions out. The session refines what happens into an
:class:`Input`, looks its row up and carries out the actions in order. Every state has a row for
every input.

The microphone and its mode stand beside the state, since the device switches them on its own: a
microphone may be open while the assistant thinks. ``BASE`` as the next state means: listening if
the microphone is open, else idle.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum

from vixio.core.chunk import ListenMode

WAKE_WINDOW_S = 1.0
"""The firmware sends ``listen start`` right behind a wake word's ``detect``
(main/application.cc, ContinueWakeWordInvoke); that one does not interrupt."""

STOP_WINDOW_S = 2.0
"""In auto and realtime mode the firmware sends ``listen start`` behind each ``tts stop``
(main/application.cc, OnIncomingJson "tts"). It takes a round trip, and the next speech may have
begun by then."""

ECHO_TAIL_S = 0.25
"""From a sound of the loudspeaker to the arrival of the last packet that it is in: the device's
buffers, one packet and the network."""


class State(StrEnum):
    """Who has the floor."""

    IDLE = "idle"
    """The microphone is off and no reply is made."""
    LISTENING = "listening"
    """The microphone is on and no reply is made."""
    THINKING = "thinking"
    """A reply is being made; nothing of it has been heard."""
    SPEAKING = "speaking"
    """A reply is being played."""
    PAUSED = "paused"
    """A reply is held: the user may be interrupting it. It resumes or is cut."""


class Input(Enum):
    """What may happen in a conversation."""

    LISTEN_START = "listen start, auto or realtime"
    OWN_START = "a listen start that the device sends by itself: behind a wake word or a tts stop"
    BUTTON_DOWN = "listen start, manual"
    LISTEN_STOP = "listen stop"
    WAKE_WORD = "wake word"
    TYPED = "typed text"
    ABORT = "abort"
    TURN = "the user said something"
    UNCLEAR = "the user said something that was not understood"
    NO_TURN = "an utterance was dropped"
    TURN_FAILED = "an utterance could not be processed"
    SPEECH = "speech without a question: say()"
    SPEAKS = "the reply is about to be heard"
    DONE = "the reply is over"
    BARGE_IN = "the user's voice interrupts"
    HUSH = "the user's voice may interrupt"
    RESUME = "the user's voice did not interrupt"
    STOP = "interrupt(), or a speech of high priority"
    HUNG_UP = "the conversation is over, or a new one replaces it"


class Action(Enum):
    """What the session does. In a row's order."""

    FEED = "give the chunk to the engine"
    RESET = "make the engine drop what it hears"
    CUT = "interrupt the reply"
    SILENCE = "send tts stop even if no reply was playing"
    REPLY = "reply to the turn"
    JOIN = "reply to this turn and the unanswered one as one"
    APOLOGISE = "say that the turn failed"
    SAY = "speak the speech"
    GREET = "answer the wake word"
    PAUSE = "hold the reply"
    RESUME = "play on"


BASE = None
"""Next state: listening or idle, as the microphone is."""

Row = tuple["State | None", tuple[Action, ...]]

_A = Action
_S = State

_QUIET: Mapping[Input, Row] = {
    Input.LISTEN_START: (BASE, (_A.FEED,)),
    Input.OWN_START: (BASE, (_A.FEED,)),
    Input.BUTTON_DOWN: (BASE, (_A.FEED,)),
    Input.LISTEN_STOP: (BASE, (_A.FEED,)),
    Input.WAKE_WORD: (BASE, (_A.RESET, _A.GREET)),
    Input.TYPED: (BASE, (_A.FEED,)),
    Input.ABORT: (BASE, (_A.FEED, _A.SILENCE)),
    Input.TURN: (_S.THINKING, (_A.REPLY,)),
    Input.UNCLEAR: (_S.THINKING, (_A.REPLY,)),
    Input.NO_TURN: (BASE, ()),
    Input.TURN_FAILED: (_S.THINKING, (_A.APOLOGISE,)),
    Input.SPEECH: (_S.THINKING, (_A.SAY,)),
    # The inputs below are late: the reply that they are about has been cut already.
    Input.SPEAKS: (BASE, ()),
    Input.DONE: (BASE, ()),
    Input.BARGE_IN: (BASE, ()),
    Input.HUSH: (BASE, ()),
    Input.RESUME: (BASE, ()),
    Input.STOP: (BASE, ()),
    Input.HUNG_UP: (BASE, (_A.RESET,)),
}

_THINKING: Mapping[Input, Row] = {
    # The firmware repeats its start in auto mode; a new press of the button is a new question.
    Input.LISTEN_START: (_S.THINKING, (_A.FEED,)),
    Input.OWN_START: (_S.THINKING, (_A.FEED,)),
    Input.BUTTON_DOWN: (BASE, (_A.CUT, _A.FEED)),
    Input.LISTEN_STOP: (_S.THINKING, (_A.FEED,)),
    Input.WAKE_WORD: (BASE, (_A.CUT, _A.RESET, _A.GREET)),
    Input.TYPED: (BASE, (_A.CUT, _A.FEED)),
    Input.ABORT: (BASE, (_A.FEED, _A.CUT, _A.SILENCE)),
    # The user paused and went on before an answer was heard: one turn.
    Input.TURN: (_S.THINKING, (_A.JOIN,)),
    # Noise is no reason to drop the question.
    Input.UNCLEAR: (_S.THINKING, ()),
    Input.NO_TURN: (_S.THINKING, ()),
    Input.TURN_FAILED: (_S.THINKING, (_A.CUT, _A.APOLOGISE)),
    Input.SPEECH: (_S.THINKING, (_A.CUT, _A.SAY)),
    Input.SPEAKS: (_S.SPEAKING, ()),
    Input.DONE: (BASE, ()),
    Input.BARGE_IN: (_S.THINKING, ()),
    Input.HUSH: (_S.THINKING, ()),
    Input.RESUME: (_S.THINKING, ()),
    Input.STOP: (BASE, (_A.CUT,)),
    Input.HUNG_UP: (BASE, (_A.CUT, _A.RESET)),
}

_SPEAKING: Mapping[Input, Row] = {
    Input.LISTEN_START: (BASE, (_A.CUT, _A.FEED)),
    Input.OWN_START: (_S.SPEAKING, (_A.FEED,)),
    Input.BUTTON_DOWN: (BASE, (_A.CUT, _A.FEED)),
    Input.LISTEN_STOP: (_S.SPEAKING, (_A.FEED,)),
    Input.WAKE_WORD: (BASE, (_A.CUT, _A.RESET, _A.GREET)),
    Input.TYPED: (BASE, (_A.CUT, _A.FEED)),
    Input.ABORT: (BASE, (_A.FEED, _A.CUT, _A.SILENCE)),
    Input.TURN: (_S.THINKING, (_A.CUT, _A.REPLY)),
    Input.UNCLEAR: (_S.THINKING, (_A.CUT, _A.REPLY)),
    Input.NO_TURN: (_S.SPEAKING, ()),
    Input.TURN_FAILED: (_S.THINKING, (_A.CUT, _A.APOLOGISE)),
    Input.SPEECH: (_S.THINKING, (_A.CUT, _A.SAY)),
    Input.SPEAKS: (_S.SPEAKING, ()),
    Input.DONE: (BASE, ()),
    Input.BARGE_IN: (BASE, (_A.CUT,)),
    Input.HUSH: (_S.PAUSED, (_A.PAUSE,)),
    Input.RESUME: (_S.SPEAKING, ()),
    Input.STOP: (BASE, (_A.CUT,)),
    Input.HUNG_UP: (BASE, (_A.CUT, _A.RESET)),
}

_PAUSED: Mapping[Input, Row] = {
    **_SPEAKING,
    Input.OWN_START: (_S.PAUSED, (_A.FEED,)),
    Input.LISTEN_STOP: (_S.PAUSED, (_A.FEED,)),
    Input.UNCLEAR: (_S.SPEAKING, (_A.RESUME,)),
    Input.NO_TURN: (_S.SPEAKING, (_A.RESUME,)),
    # The apology would cut what the user was listening to.
    Input.TURN_FAILED: (_S.SPEAKING, (_A.RESUME,)),
    Input.SPEAKS: (_S.PAUSED, ()),
    Input.HUSH: (_S.PAUSED, ()),
    Input.RESUME: (_S.SPEAKING, (_A.RESUME,)),
}

TABLE: Mapping[State, Mapping[Input, Row]] = {
    State.IDLE: _QUIET,
    State.LISTENING: _QUIET,
    State.THINKING: _THINKING,
    State.SPEAKING: _SPEAKING,
    State.PAUSED: _PAUSED,
}
"""State × input → the next state and what to do."""


class Floor:
    """The state of one conversation, with its microphone. Time comes in from outside."""

    def __init__(self) -> None:
        self.state = State.IDLE
        self.mode = ListenMode.AUTO
        self.microphone = False
        self.hears = False
        """Whether microphone audio is wanted now."""
        self.hears_itself = False
        """Nothing takes the loudspeaker out of the microphone: audio is not wanted while it sounds,
        and the user's voice does not interrupt it."""
        self._echo_until = float("-inf")
        self._expects_until = float("-inf")

    def step(self, happened: Input) -> tuple[Action, ...]:
        """Go to the next state and return the actions."""
        state, actions = TABLE[self.state][happened]
        if happened is Input.DONE or Action.CUT in actions:
            self._after_reply()
        if state is not BASE:
            self.state = state
        else:
            self.state = State.IDLE
        self._settle()
        return actions

    @property
    def quiet(self) -> bool:
        """Whether no reply is made."""
        return self.state is State.IDLE or self.state is State.LISTENING

    @property
    def full_duplex(self) -> bool:
        """Whether the user is heard while the device speaks."""
        return self.mode is ListenMode.REALTIME and not self.hears_itself

    @property
    def audible(self) -> bool:
        """Whether a reply is playing or held."""
        return self.state is State.SPEAKING or self.state is State.PAUSED

    def hears_at(self, now: float) -> bool:
        """Return whether microphone audio that arrives now is wanted."""
        return self.hears and now >= self._echo_until

    def sounds_until(self, at: float) -> None:
        """The loudspeaker plays what it has until ``at``."""
        if self.hears_itself:
            self._echo_until = max(self._echo_until, at + ECHO_TAIL_S)

    def microphone_on(self, mode: ListenMode) -> bool:
        """The device opened its microphone; return whether that is news for the engine.

        A press of the button always is: it begins an utterance.
        """
        news = not self.microphone or mode is not self.mode or mode is ListenMode.MANUAL
        self.microphone = True
        self.mode = mode
        # The device is silent then (main/audio/audio_service.cc, EnableVoiceProcessing).
        self._echo_until = float("-inf")
        self._settle()
        return news

    def microphone_off(self) -> bool:
        """The device closed its microphone; return whether it was open."""
        was_on, self.microphone = self.microphone, False
        self._settle()
        return was_on

    def expect_start(self, until: float) -> None:
        """The device will send ``listen start`` by itself. The longest expectation counts."""
        self._expects_until = max(self._expects_until, until)

    def expects_start(self, now: float) -> bool:
        """Return whether a ``listen start`` is the expected one. True at most once."""
        expected = now <= self._expects_until
        self._expects_until = float("-inf")
        return expected

    def _after_reply(self) -> None:
        # The device listens again by itself in auto and realtime mode, and is idle in manual mode
        # (main/application.cc, OnIncomingJson "tts").
        if self.audible and self.mode is ListenMode.MANUAL:
            self.microphone = False

    def _settle(self) -> None:
        if self.quiet:
            self.state = State.LISTENING if self.microphone else State.IDLE
        self.hears = self.microphone and (not self.audible or self.full_duplex)
