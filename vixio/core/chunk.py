"""The chunks: what flows between stations. Frozen, slotted, and few.

Listening half::

    AudioIn, ListenStart, ListenStop, Abort, TextInput    from the device
    DeviceAwake, DeviceAsleep                             from one that is always connected
    VoiceStarted, VoiceEnded                              from the VAD
    TurnStarted, TurnPaused, TurnResumed, TurnEnded, TurnDropped    from the turn detector
    PartialTranscript, EarlyTranscript, Transcript, TurnDropped     from the ASR
    UserTurn                                              the value in which the halves meet
    TurnFailed                                            from the station that failed

Replying half::

    UserTurn → TextDelta, ToolCalled, ToolReturned, Notice, Farewell
             → Emotion, Sentence → Sentence, AudioOut, SentenceFailed

A station passes on what it does not consume. What belongs to a turn carries its ``turn_id``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum


class ListenMode(StrEnum):
    """Who decides when the user has finished, and whether the microphone stays on meanwhile."""

    AUTO = "auto"
    """The server finds the end of speech; the microphone is off while the device speaks."""
    MANUAL = "manual"
    """Push-to-talk: the utterance is what lies between start and stop."""
    REALTIME = "realtime"
    """Full duplex: the microphone stays on while the device speaks, voice interrupts."""


class Completeness(StrEnum):
    """What is known of words that may go on."""

    COMPLETE = "complete"
    """Nothing is missing: a command that the recogniser knows."""
    INCOMPLETE = "incomplete"
    """More is to come."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Base of all chunks."""


@dataclass(frozen=True, slots=True)
class AudioIn(Chunk):
    """Microphone audio at :data:`~vixio.core.audio.LISTEN_RATE`.

    ``at`` is when it arrived (:func:`~vixio.core.clock.now`). ``gap_ms``: audio time known to be
    missing before it (from transport timestamps; 0 where the transport cannot know).
    """

    pcm: bytes
    at: float
    gap_ms: int = 0


@dataclass(frozen=True, slots=True)
class ListenStart(Chunk):
    """The microphone is on, in ``mode``."""

    mode: ListenMode


@dataclass(frozen=True, slots=True)
class ListenStop(Chunk):
    """The user let the button go: what was said so far is the utterance."""


@dataclass(frozen=True, slots=True)
class DeviceAwake(Chunk):
    """A conversation begins on a device that is always connected. ``anew``: one was going on."""

    anew: bool = False


@dataclass(frozen=True, slots=True)
class DeviceAsleep(Chunk):
    """It is over: the device is idle, and its microphone off."""


@dataclass(frozen=True, slots=True)
class TextInput(Chunk):
    """Typed words, or a wake word (``wake_word`` true) that the device itself recognised."""

    text: str
    wake_word: bool = False


@dataclass(frozen=True, slots=True)
class Abort(Chunk):
    """Whatever is being heard or said is void: the device asks for it, or the reply begins."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class VoiceStarted(Chunk):
    """Speech began ``ago_ms`` of audio before the audio that follows (pre-roll included)."""

    ago_ms: int = 0


@dataclass(frozen=True, slots=True)
class VoiceEnded(Chunk):
    """Speech paused; ``silence_ms`` of audio since its last voiced window have been heard.

    ``others_ms``: of audio before that in which only other people were heard.
    """

    silence_ms: int = 0
    others_ms: int = 0


@dataclass(frozen=True, slots=True)
class TurnStarted(Chunk):
    """An utterance of the user began; its audio follows."""

    turn_id: int


@dataclass(frozen=True, slots=True)
class TurnPaused(Chunk):
    """The user has been silent for a moment within their utterance: it may be complete."""

    turn_id: int


@dataclass(frozen=True, slots=True)
class TurnResumed(Chunk):
    """The user went on, or something else sounded, behind a TurnPaused."""

    turn_id: int


@dataclass(frozen=True, slots=True)
class TurnEnded(Chunk):
    """The utterance is complete. ``reason``: silence, stop, gap (packets ceased) or limit.

    ``speech_ms``: how long it was, pre-roll and final silence left out.
    """

    turn_id: int
    reason: str
    speech_ms: int = 0


@dataclass(frozen=True, slots=True)
class TurnDropped(Chunk):
    """The utterance is void (too short, aborted): forget its audio."""

    turn_id: int


@dataclass(frozen=True, slots=True)
class PartialTranscript(Chunk):
    """The words recognised so far in the utterance in progress; later ones may change them.

    Turn ids never decrease, and none follows the Transcript of its turn.
    """

    turn_id: int
    text: str


@dataclass(frozen=True, slots=True)
class EarlyTranscript(Chunk):
    """What the ASR heard up to a TurnPaused: the Transcript of the turn if nothing follows.

    Before it perhaps the partial words, where those of the pause before were all of them.
    ``text`` is empty if it is not known. ``completeness``: whether the user has more to say.
    """

    turn_id: int
    text: str
    language: str = ""
    emotion: str = ""
    completeness: Completeness | None = None


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of the sentences that may have been said.

    ``told``: its words that the others have not ("two minutes"), or all of it. ``values``: those
    by which somebody chooses it ("two").
    """

    text: str
    told: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Transcript(Chunk):
    """What the ASR heard in one utterance.

    ``rejected``: it heard speech but would only be guessing at the words; ``text`` is then empty,
    and ``guess`` what they may have been, to be shown to people alone.
    ``alternatives``: what may have been said, where ``text`` is too uncertain to be acted on.
    ``emotion``, ``language`` and ``completeness`` as far as the provider knows them.
    """

    turn_id: int
    text: str
    rejected: bool = False
    confidence: float | None = None
    language: str = ""
    emotion: str = ""
    completeness: Completeness | None = None
    guess: str = ""
    alternatives: tuple[Alternative, ...] = ()


@dataclass(frozen=True, slots=True)
class UserTurn(Chunk):
    """What the user said, complete: the reply to it may begin.

    ``understood`` false: speech was heard but not understood, so it is asked back, not acted on.
    ``commanded``: the words are those of a command, not of the user; they cannot agree to anything.
    ``alternatives``: what may have been said instead; the user is asked which.
    ``commitment``: the turn is answered ahead, and has no effect before that is given; None: it has
    its effects as they come.
    """

    turn_id: int
    text: str
    understood: bool = True
    language: str = ""
    emotion: str = ""
    commanded: bool = False
    alternatives: tuple[Alternative, ...] = ()
    commitment: Commitment | None = field(default=None, compare=False, repr=False)


class Commitment:
    """Whether a turn that is answered ahead takes place. Given once, or never."""

    __slots__ = ("_given", "_then")

    def __init__(self) -> None:
        self._given = False
        self._then: list[Callable[[], None]] = []

    def give(self) -> None:
        """The turn takes place. Idempotent."""
        self._given = True
        waiting, self._then = self._then, []
        for call in waiting:
            call()

    def then(self, call: Callable[[], None]) -> None:
        """Have ``call`` called once it is given: at once if it was."""
        if self._given:
            call()
        else:
            self._then.append(call)


@dataclass(frozen=True, slots=True)
class TurnFailed(Chunk):
    """The turn cannot go on. ``stage`` is a station's name; ``detail`` one line for the log.

    ``reason`` and ``part``: as in :class:`~vixio.core.errors.ProviderError`.
    """

    turn_id: int
    stage: str
    detail: str
    reason: str = ""
    part: str = ""


@dataclass(frozen=True, slots=True)
class TextDelta(Chunk):
    """A piece of the reply's text, as the model writes it.

    ``complete``: words that stand for themselves and are spoken without waiting for more.
    ``recurring``: words that will be said again, as a greeting: their audio may be kept.
    """

    turn_id: int
    text: str
    complete: bool = False
    recurring: bool = False


@dataclass(frozen=True, slots=True)
class ToolCalled(Chunk):
    """The model calls a tool. ``arguments`` is the JSON text that it wrote.

    ``source``: where the tool comes from; empty if there is no tool of that name.
    """

    turn_id: int
    call_id: str
    name: str
    arguments: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class ToolReturned(Chunk):
    """A tool's answer as the model sees it, after ``seconds``.

    ``error_type``: of a failure, as in :class:`~vixio.core.errors.ToolError`; empty if unknown.
    """

    turn_id: int
    call_id: str
    output: str
    success: bool
    seconds: float
    error_type: str = ""


@dataclass(frozen=True, slots=True)
class Notice(Chunk):
    """Words to show on the device, not to speak."""

    turn_id: int
    text: str


@dataclass(frozen=True, slots=True)
class Farewell(Chunk):
    """The conversation is over once this reply has been played to its end."""

    turn_id: int


@dataclass(frozen=True, slots=True)
class Emotion(Chunk):
    """The face to show: a name of :data:`vixio.core.emotions.EMOTIONS` and its emoji."""

    turn_id: int
    name: str
    emoji: str


@dataclass(frozen=True, slots=True)
class SpeechAhead(Chunk):
    """The first words of a reply have come: a sentence follows when it is complete."""

    turn_id: int


@dataclass(frozen=True, slots=True)
class Sentence(Chunk):
    """Words to speak in one breath. ``text`` is shown, ``spoken`` goes to the TTS.

    Behind the TTS it stands before its own audio. ``recurring``: as in :class:`TextDelta`.
    """

    turn_id: int
    text: str
    spoken: str
    recurring: bool = False


@dataclass(frozen=True, slots=True)
class SentenceFailed(Chunk):
    """The sentence before has no audio, or not all of it; the reply goes on with the next one.

    ``text``: as in the Sentence. ``reason`` and ``detail``: as in :class:`TurnFailed`.
    """

    turn_id: int
    text: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class AudioOut(Chunk):
    """Speech to play: PCM at ``sample_rate`` (Hz)."""

    turn_id: int
    pcm: bytes
    sample_rate: int
