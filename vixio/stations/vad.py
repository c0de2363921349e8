"""Marks where speech begins and pauses in the stream of microphone audio."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from vixio.core.audio import LISTEN_RATE
from vixio.core.chunk import (
    Abort,
    AudioIn,
    Chunk,
    ListenMode,
    ListenStart,
    ListenStop,
    VoiceEnded,
    VoiceStarted,
)
from vixio.core.errors import ProviderTimeout
from vixio.core.station import Emit, ListeningStation, StationContext
from vixio.core.timeouts import Timeouts
from vixio.core.watchdog import Watchdog
from vixio.providers.vad import VADProvider, VADStream
from vixio.stations.failure import turn_failure


@dataclass(frozen=True, slots=True)
class VADSettings:
    """Hysteresis of the decision.

    Speech begins after ``min_speech_ms`` of windows at or above ``threshold`` and pauses at the
    first ``min_pause_ms`` below ``exit_threshold``. ``timeout``: seconds for one answer of the
    detector. ``recovery``: seconds without detection after a failure; shorter than the apology, so
    that the user's next attempt is heard.
    """

    threshold: float = 0.5
    exit_threshold: float = 0.35
    min_speech_ms: int = 96
    min_pause_ms: int = 64
    timeout: float = Timeouts().vad
    recovery: float = 2.0


class VADStation(ListeningStation):
    """Feeds the detector and adds VoiceStarted and VoiceEnded to the stream.

    All audio passes through, speech or not. In manual mode the button decides and the detector is
    not used.
    """

    name = "vad"

    def __init__(self, vad: VADProvider, settings: VADSettings | None = None) -> None:
        self._vad = vad
        self._settings = settings or VADSettings()
        self._window_ms = vad.window_samples * 1000 // LISTEN_RATE
        self._speech_windows = max(1, math.ceil(self._settings.min_speech_ms / self._window_ms))
        self._pause_windows = max(1, math.ceil(self._settings.min_pause_ms / self._window_ms))
        self._stream: VADStream | None = None
        self._watchdog = Watchdog()
        self._mode = ListenMode.AUTO
        self._broken_until = -math.inf
        self._voice = False
        self._run = 0

    def bind(self, context: StationContext, emit: Emit) -> None:
        """Open the detector's state for this session."""
        super().bind(context, emit)
        self._stream = self._vad.open()

    async def feed(self, chunk: Chunk, now: float) -> Sequence[Chunk]:
        """Pass ``chunk`` on with the marks that it causes."""
        if isinstance(chunk, AudioIn):
            if self._mode is ListenMode.MANUAL:
                return (chunk,)
            return await self._hear(chunk, now)
        if isinstance(chunk, ListenStart | ListenStop | Abort):
            if isinstance(chunk, ListenStart):
                self._mode = chunk.mode
                self._broken_until = -math.inf
            self._reset()
        return (chunk,)

    async def close(self) -> None:
        """Release the detector's state."""
        self._watchdog.close()
        if self._stream is not None:
            self._stream.close()

    def _reset(self) -> None:
        self._voice = False
        self._run = 0
        if self._stream is not None:
            self._stream.reset()

    async def _hear(self, chunk: AudioIn, now: float) -> Sequence[Chunk]:
        if self._stream is None or now < self._broken_until:
            return ()
        try:
            with self._watchdog.until(now + self._settings.timeout):
                probabilities = await self._stream.process(chunk.pcm)
        except TimeoutError:
            seconds = self._settings.timeout
            return self._fail(ProviderTimeout("vad", "answer", seconds), now + seconds)
        except Exception as error:  # noqa: BLE001 - a defect costs a turn, like an error
            return self._fail(error, now)
        marks: list[Chunk] = []
        for probability in probabilities:
            mark = self._weigh(probability)
            if mark is not None:
                marks.append(mark)
        if not marks:
            return (chunk,)
        # A start goes before the audio in which it was detected, a pause after it.
        before = [mark for mark in marks if isinstance(mark, VoiceStarted)]
        behind = [mark for mark in marks if isinstance(mark, VoiceEnded)]
        if before and behind and marks[0] is behind[0]:
            return (*behind, *before, chunk)
        return (*before, chunk, *behind)

    def _weigh(self, probability: float) -> VoiceStarted | VoiceEnded | None:
        settings = self._settings
        if self._voice:
            self._run = self._run + 1 if probability < settings.exit_threshold else 0
            if self._run >= self._pause_windows:
                self._voice = False
                silence_ms = self._run * self._window_ms
                self._run = 0
                return VoiceEnded(silence_ms)
            return None
        self._run = self._run + 1 if probability >= settings.threshold else 0
        if self._run >= self._speech_windows:
            self._voice = True
            spoken_ms = self._run * self._window_ms
            self._run = 0
            return VoiceStarted(spoken_ms)
        return None

    def _fail(self, error: Exception, now: float) -> Sequence[Chunk]:
        self._reset()
        self._broken_until = now + self._settings.recovery
        self.context.counters.add("vad.failed")
        turn_id = self.context.history.next_turn_id()
        return (Abort("vad failed"), turn_failure(turn_id, self.name, error))
