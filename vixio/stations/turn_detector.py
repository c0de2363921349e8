"""Decides where a turn of the user begins and ends, in audio time.

Silence is counted in audio, so a network stall followed by a burst adds no silence. A device may
also stop sending (Opus DTX, a lost network), so a deadline fires without a packet: early when the
last audio was silence (DTX starts only after 200 ms of it, silk/define.h
NB_SPEECH_FRAMES_BEFORE_DTX), late when the last packet was speech.

How much silence ends a turn is decided by an endpointing policy
(:mod:`vixio.core.turns.endpointing`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE, pcm_seconds
from vixio.core.chunk import (
    Abort,
    AudioIn,
    Chunk,
    ListenMode,
    ListenStart,
    ListenStop,
    TextInput,
    TurnDropped,
    TurnEnded,
    TurnPaused,
    TurnResumed,
    TurnStarted,
    VoiceEnded,
    VoiceStarted,
)
from vixio.core.station import ListeningStation
from vixio.core.turns.endpointing import (
    OPINION_S,
    EndpointingFactory,
    FixedSilence,
    TurnProgress,
    doubted,
    longest,
)

SecondOpinion = Callable[[bytes], Awaitable[bool | None]]
"""Judges a turn by its sound, from the pre-roll on: 16 kHz s16 mono, the last
:data:`~vixio.core.turns.endpointing.OPINION_S` seconds. Returns whether more is to come; None: not
known in time. It serves all sessions, and raises nothing."""

_OPINION_BYTES: Final = OPINION_S * LISTEN_RATE * BYTES_PER_SAMPLE


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """When a turn is over.

    ``end_silence_ms`` of audio without voice end it under the default policy; ``pre_roll_ms`` of
    audio before the voice belong to it; ``max_utterance_ms`` bounds it. ``jitter_ms``: how long the
    network may delay a packet before its absence counts as silence; ``stall_ms``: how long packets
    may be absent in mid speech. ``think_ms``: silence after which the turn may be complete, so that
    thinking can begin; 0: not before it is.
    """

    end_silence_ms: int = 500
    pre_roll_ms: int = 300
    max_utterance_ms: int = 30_000
    jitter_ms: int = 200
    stall_ms: int = 2_000
    think_ms: int = 200


class TurnDetectorStation(ListeningStation):
    """Cuts the marked audio into turns: TurnStarted, its audio, TurnEnded."""

    name = "turn_detector"

    def __init__(
        self,
        settings: TurnSettings | None = None,
        endpointing: EndpointingFactory | None = None,
        opinion: SecondOpinion | None = None,
    ) -> None:
        """``endpointing`` makes the policy; default: :class:`FixedSilence` of the settings.

        ``opinion``: is asked once in a pause, when thinking begins, and may lengthen it.
        """
        self._settings = settings or TurnSettings()
        end_silence = self._settings.end_silence_ms / 1000
        self._policy = endpointing() if endpointing is not None else FixedSilence(end_silence)
        self._required = self._usual = end_silence
        # Twice the pre-roll also covers the speech that passed before the VAD detected it.
        self._keep = 2 * self._settings.pre_roll_ms / 1000 + 0.2
        self._pauses: list[float] = []
        self._mode = ListenMode.AUTO
        self._turn_id = 0
        self._voice = False
        self._silence = 0.0
        self._others = 0.0
        """Seconds before the silence in which only other people were heard."""
        self._length = 0.0
        self._pre_roll = 0.0
        self._heard_any = False
        self._last_at = 0.0
        self._resumes = False
        self._ended_at: float | None = None
        """When the voice of the turn before ended."""
        self._since_last: float | None = None
        self._think = self._settings.think_ms / 1000
        self._packet = 0.0
        """Seconds of the latest audio."""
        self._paused = False
        """Whether TurnPaused was said of the pause that goes on."""
        self._opinion = opinion
        self._sound = bytearray()
        """Of the turn, where there is somebody to judge it."""
        self._doubted = self._lengthened = False
        """Whether the turn goes on in the second opinion; whether that lengthened the pause."""
        self._recent: deque[tuple[AudioIn, float]] = deque()
        """Audio before a turn, each chunk with its seconds."""
        self._recent_s = 0.0

    @property
    def deadline(self) -> float | None:
        """When the turn ends, or may be complete, although nothing arrives."""
        if not self._turn_id or self._mode is ListenMode.MANUAL:
            return None
        if self._voice:
            return self._last_at + self._settings.stall_ms / 1000
        self._ask_policy()  # words may have become known since the last packet
        if self._think and not self._paused:
            return self._silent_at(min(self._required, self._think))
        return self._silent_at(self._required)

    def _silent_at(self, seconds: float) -> float:
        """Return when it has been silent for so long, if no more packets come."""
        left = seconds - self._silence
        return self._last_at + (left + self._settings.jitter_ms / 1000 if left > 0 else 0.0)

    async def feed(self, chunk: Chunk, now: float) -> Sequence[Chunk]:
        """Take marked audio and controls; return turns."""
        match chunk:
            case AudioIn():
                return self._audio(chunk, now)
            case VoiceStarted(ago_ms=ago_ms):
                return self._voice_started(ago_ms)
            case VoiceEnded(silence_ms=silence_ms, others_ms=others_ms):
                self._voice = False
                self._others = others_ms / 1000
                self.context.early = None  # that of the pause before may have come too late
                self._silence = silence_ms / 1000
                self._ask_policy()
                return self._pause()
            case ListenStart(mode=mode):
                dropped = self._drop()
                self._mode = mode
                self._last_at = now
                if mode is ListenMode.MANUAL:
                    return (*dropped, chunk, self._start())
                return (*dropped, chunk)
            case ListenStop():
                return (*self._stop(now), chunk)
            case Abort() | TextInput():
                return (*self._drop(), chunk)
            case _:
                return (chunk,)

    async def expire(self, now: float) -> Sequence[Chunk]:
        """End a turn whose packets have stopped."""
        deadline = self.deadline
        if deadline is None or now < deadline:
            return ()
        if not self._voice and now < self._silent_at(self._required):
            return (self._may_be_over(),)
        # The rest of a stalled sentence may still come, in a burst.
        self._resumes = self._voice
        if not self._voice and self._silence >= self._required:
            return (self._end("silence", now),)
        if not self._voice:
            self._silence += now - self._last_at
        return (self._end("gap", now),)

    def _audio(self, chunk: AudioIn, now: float) -> Sequence[Chunk]:
        self._packet = seconds = pcm_seconds(chunk.pcm, LISTEN_RATE)
        self._last_at = now
        if not self._turn_id:
            if self._resumes:
                self._resumes = False
                return (self._start(), *self._into_turn(chunk, seconds, now))
            self._remember(chunk, seconds)
            return ()
        return self._into_turn(chunk, seconds, now)

    def _into_turn(self, chunk: AudioIn, seconds: float, now: float) -> Sequence[Chunk]:
        self._heard_any = True
        self._length += seconds
        self._keep_sound(chunk)
        limit = self._settings.max_utterance_ms / 1000
        if self._mode is ListenMode.MANUAL:
            return (chunk, self._end("limit", now)) if self._length >= limit else (chunk,)
        if not self._voice:
            self._silence += seconds + chunk.gap_ms / 1000
            self._ask_policy()
            if self._silence >= self._required:
                return (chunk, self._end("silence", now))
        if self._length >= limit:
            return (chunk, self._end("limit", now))
        return (chunk,) if self._voice else (chunk, *self._pause())

    def _pause(self) -> Sequence[Chunk]:
        """Say once in a pause that the turn may be complete.

        At the packet whose end is nearest: a pause is heard in packets of 60 ms, and the next one
        may be two thirds of that too late.
        """
        if not (self._think and self._turn_id) or self._paused:
            return ()
        nearest = self._think - self._packet / 2
        if self._mode is ListenMode.MANUAL or not nearest <= self._silence < self._required:
            return ()
        return (self._may_be_over(),)

    def _may_be_over(self) -> TurnPaused:
        self._paused = True
        if self._opinion is not None and self._required < longest(self._usual):
            self.context.counters.add("smart_turn.asked")
            self.context.spawn(self._ask(self._opinion, bytes(self._sound), self._pause_id()))
        return TurnPaused(self._turn_id)

    def _pause_id(self) -> tuple[int, int]:
        return self._turn_id, len(self._pauses)

    async def _ask(self, opinion: SecondOpinion, sound: bytes, pause: tuple[int, int]) -> None:
        """Take the second opinion on a turn into account, unless its ``pause`` is over by then."""
        doubt = await opinion(sound)
        if doubt is None or pause != self._pause_id():
            self.context.counters.add("smart_turn.late")
        else:
            self._doubted = doubt

    def _keep_sound(self, chunk: AudioIn) -> None:
        if self._opinion is not None:
            self._sound += chunk.pcm
            del self._sound[:-_OPINION_BYTES]

    def _voice_started(self, ago_ms: int) -> Sequence[Chunk]:
        if self._turn_id and not self._voice:
            self._pauses.append(self._silence)
        self._voice = True
        self._silence = self._others = 0.0
        self._doubted = self._lengthened = False
        if self._turn_id or self._mode is ListenMode.MANUAL:
            paused, self._paused = self._paused, False
            return (TurnResumed(self._turn_id),) if paused else ()
        wanted = (self._settings.pre_roll_ms + ago_ms) / 1000
        while self._recent and self._recent_s - self._recent[0][1] >= wanted:
            self._recent_s -= self._recent.popleft()[1]
        before = tuple(chunk for chunk, _ in self._recent)
        length = self._recent_s
        started = self._start()
        if self._ended_at is not None:
            self._since_last = self._last_at - ago_ms / 1000 - self._ended_at
        self._length = length
        self._pre_roll = max(0.0, length - ago_ms / 1000)
        self._heard_any = True
        for chunk in before:
            self._keep_sound(chunk)
        return (started, *before)

    def _remember(self, chunk: AudioIn, seconds: float) -> None:
        self._recent.append((chunk, seconds))
        self._recent_s += seconds
        while self._recent_s > self._keep and len(self._recent) > 1:
            self._recent_s -= self._recent.popleft()[1]

    def _start(self) -> TurnStarted:
        self._turn_id = self.context.history.next_turn_id()
        self._length = 0.0
        self._pre_roll = 0.0
        self._silence = self._others = 0.0
        self._pauses.clear()
        self._doubted = self._lengthened = False
        self._since_last = None
        self._paused = False
        self._heard_any = False
        self._recent.clear()
        self._recent_s = 0.0
        return TurnStarted(self._turn_id)

    def _ask_policy(self) -> None:
        """Update how much silence ends the current turn."""
        if not self._turn_id or self._mode is ListenMode.MANUAL:
            return
        context, turn_id = self.context, self._turn_id
        partial = context.partial
        progress = TurnProgress(
            self._mode,
            self._length,
            self._silence,
            tuple(self._pauses),
            partial.text if partial is not None and partial.turn_id == turn_id else "",
            context.early,
            context.language,
            turn_id,
            self._since_last,
            context.words_due,
        )
        required = self._policy.required_silence(progress)
        if self._doubted and (longer := doubted(required, self._usual, context.early)) > required:
            if not self._lengthened:
                context.counters.add("smart_turn.lengthened")
            self._lengthened, required = True, longer
        # Who is given more time has had it while only others were heard.
        required = max(min(required, self._settings.end_silence_ms / 1000), required - self._others)
        # Bounded, so that a turn also ends when packets stop.
        self._required = min(required, self._settings.max_utterance_ms / 1000)

    def _stop(self, now: float) -> Sequence[Chunk]:
        if not self._turn_id:
            return ()
        if not self._heard_any:
            return self._drop()
        return (self._end("stop", now),)

    def _end(self, reason: str, now: float) -> TurnEnded:
        turn_id = self._turn_id
        timeline = self.context.timeline(turn_id)
        self._ended_at = now - self._silence - self._others
        timeline.mark("voice_end", self._ended_at)
        timeline.mark("turn_end", now)
        self._turn_id = 0
        self._sound.clear()
        speech_s = max(0.0, self._length - self._pre_roll - (now - self._ended_at))
        return TurnEnded(turn_id, reason, round(speech_s * 1000))

    def _drop(self) -> Sequence[Chunk]:
        turn_id, self._turn_id = self._turn_id, 0
        self._resumes = False
        self._sound.clear()
        self._recent.clear()
        self._recent_s = 0.0
        return (TurnDropped(turn_id),) if turn_id else ()
