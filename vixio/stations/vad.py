"""Marks where speech begins and pauses in the stream of microphone audio."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Final

from vixio.audio.loudness import energies
from vixio.core.audio import BYTES_PER_SAMPLE, LISTEN_RATE
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

    Speech begins after ``min_speech_ms`` of windows at or above ``threshold`` (over the assistant's
    with the first that is :data:`SURE`) and pauses at the first ``min_pause_ms`` below
    ``exit_threshold``. ``background_db``: voices so much quieter than the user's are others in the
    room, or a television; 0: every voice is the user's. ``timeout``: seconds for one answer of the
    detector. ``recovery``: seconds without detection after a failure; shorter than the apology, so
    that the user's next attempt is heard.
    """

    threshold: float = 0.5
    exit_threshold: float = 0.35
    min_speech_ms: int = 96
    min_pause_ms: int = 64
    background_db: float = 8.0
    timeout: float = Timeouts().vad
    recovery: float = 2.0


SURE: Final = 0.9
"""One window at or above it begins speech over the assistant's, which falls silent 50 ms sooner so.
Coughs, knocks, tones and noise stay below 0.4. Not where the server cancels the echo: its
rest behind a stutter of the loudspeaker may be louder for a moment."""

LEVEL_MS: Final = 160
"""A voice's level is that of so much audio: less varies with each sound, more takes in pauses."""
QUIET_MS: Final = 576
"""Nothing as loud as the user for so long is a pause. Within sentences there is less."""
SOFT_MS: Final = 256
"""Who begins again behind a pause may be quieter than before for so long."""
AGAIN_DB: Final = 2.0
"""While others talk, a voice has to be louder by this to begin than to go on."""
FORGOTTEN_MS: Final = 1_500
"""Who speaks after such a pause may be another person, or stand elsewhere."""
WARY_MS: Final = 12_000
"""Of audio for which it is remembered that others talk."""


class Foreground:
    """Tells the user's voice from others in the room, by its level.

    A detector takes people who talk in the background, and televisions, for speech in most of the
    user's pauses, so that silence never comes. It is given one window of audio after the other.
    """

    def __init__(self, margin_db: float, window_ms: int) -> None:
        self._margin = margin_db
        self._window_ms = window_ms
        self._recent: deque[float] = deque(maxlen=max(1, LEVEL_MS // window_ms))
        self._level = -math.inf
        self._user = -math.inf
        """The level of the user's loudest sounds, in dB."""
        self._voiced_ms = 0
        """Since the voice began."""
        self._wary_ms = 0

        self.quiet_ms = 0
        """Since the user was last heard."""

    def take(self, energy: float) -> None:
        """Take the next window. ``energy``: the sum of its squared samples."""
        self._recent.append(energy)
        self._level = 10 * math.log10(sum(self._recent) / len(self._recent) + 1e-12)
        self._wary_ms = max(0, self._wary_ms - self._window_ms)
        self.quiet_ms += self._window_ms

    def may_begin(self) -> bool:
        """Whether a voice in this window can be the user's."""
        return not self._wary_ms or self._level > self._user - self._margin + AGAIN_DB

    def begin(self) -> None:
        """Take it that the user's voice has begun."""
        self._voiced_ms = 0
        if self.quiet_ms > FORGOTTEN_MS:
            self.quiet_ms = 0
            if not self._wary_ms:
                self._user = -math.inf

    def only_others(self, *, sure: bool) -> bool:
        """Whether the user has paused, although the detector hears a voice; ``sure``: of that."""
        self._voiced_ms += self._window_ms
        if sure:
            self._user = max(self._user, self._level)
        if self._level > self._user - self._margin:
            self.quiet_ms = 0
        if self.quiet_ms < QUIET_MS or self._voiced_ms < SOFT_MS:
            return False
        self._wary_ms = WARY_MS
        return True

    def forget(self) -> None:
        """Take the next voice for the user's, whatever its level."""
        self._recent.clear()
        self._wary_ms = self.quiet_ms = 0
        self._user = -math.inf


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
        self._foreground: Foreground | None = None
        if self._settings.background_db:
            self._foreground = Foreground(self._settings.background_db, self._window_ms)
        self._unweighed = b""
        """Audio of which the detector has made no window yet."""

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
            elif isinstance(chunk, Abort) and self._foreground is not None:
                self._foreground.forget()
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
        self._unweighed = b""
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
        found = self._energies(chunk.pcm, len(probabilities))
        for probability, energy in zip(probabilities, found, strict=True):
            mark = self._weigh(probability, energy)
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

    def _energies(self, pcm: bytes, windows: int) -> Iterable[float]:
        """Return the energy of each window that the detector has made with ``pcm``."""
        if self._foreground is None:
            return repeat(0.0, windows)
        self._unweighed += pcm
        size = windows * self._vad.window_samples * BYTES_PER_SAMPLE
        made, self._unweighed = self._unweighed[:size], self._unweighed[size:]
        if not windows or len(made) < size:
            return repeat(math.inf, windows)  # a detector that miscounts hears the user alone
        return energies(made, windows)

    def _weigh(self, probability: float, energy: float) -> VoiceStarted | VoiceEnded | None:
        settings, foreground = self._settings, self._foreground
        if foreground is not None:
            foreground.take(energy)
        sure = probability >= settings.threshold
        if self._voice:
            self._run = self._run + 1 if probability < settings.exit_threshold else 0
            others = foreground is not None and foreground.only_others(sure=sure)
            if self._run >= self._pause_windows:
                silence_ms, others_ms = self._run * self._window_ms, 0
            elif foreground is not None and others:
                silence_ms, others_ms = foreground.quiet_ms - QUIET_MS, QUIET_MS
                self.context.counters.add("vad.background")
            else:
                return None
            self._voice, self._run = False, 0
            return VoiceEnded(silence_ms, others_ms)
        if foreground is not None:
            sure = sure and foreground.may_begin()
        self._run = self._run + 1 if sure else 0
        over = sure and probability >= SURE and self.context.surely_over()
        if over or self._run >= self._speech_windows:
            self._voice = True
            spoken_ms = self._run * self._window_ms
            self._run = 0
            if foreground is not None:
                foreground.begin()
            return VoiceStarted(spoken_ms)
        return None

    def _fail(self, error: Exception, now: float) -> Sequence[Chunk]:
        self._reset()
        self._broken_until = now + self._settings.recovery
        self.context.counters.add("vad.failed")
        turn_id = self.context.history.next_turn_id()
        return (Abort("vad failed"), turn_failure(turn_id, self.name, error))
