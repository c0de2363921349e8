"""How often a silence ends a turn too early, and how long the user waits for its end.

Speech goes the way of a device's microphone: Opus with the firmware's settings in packets of 60 ms,
the server's decoder, the VAD station, the turn detector. Time is that of the audio, so the figures
do not depend on the machine.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, replace
from time import process_time
from typing import Any

import numpy as np
import opuslib

from firmware_test_client.opus import Encoder
from vixio.audio.codec import OpusDecoder
from vixio.core.audio import LISTEN_RATE
from vixio.core.chunk import (
    AudioIn,
    Chunk,
    EarlyTranscript,
    ListenMode,
    ListenStart,
    TurnEnded,
    TurnPaused,
    TurnResumed,
    TurnStarted,
    VoiceEnded,
    VoiceStarted,
)
from vixio.core.history import History
from vixio.core.metrics import Counters
from vixio.core.station import ListeningStation, StationContext
from vixio.core.tools.toolset import ToolSet
from vixio.core.turns.completeness import completeness
from vixio.core.turns.endpointing import AdaptiveSilence
from vixio.providers.asr import ASRProvider, Recognition, SpeechHints
from vixio.providers.vad import VADProvider
from vixio.stations.asr import EARLY_SILENCE
from vixio.stations.turn_detector import SecondOpinion, TurnDetectorStation, TurnSettings
from vixio.stations.vad import VADSettings, VADStation
from vixio.testing.voices import FRAME_SAMPLES, NOISE_DB, Floats

FRAME_S = FRAME_SAMPLES / LISTEN_RATE
LEAD_S = 0.6
"""Silence before the voice."""
TAIL_S = 3.0
"""Silence behind it: more than any threshold that is measured."""
PEAK_DB = -9.0
"""What a voice's peaks are brought to, below full scale."""
QUIET_DB = -30.0
"""Of a voice's loud parts: what is below counts as silence."""
WORDS_S = 0.05
"""From a pause to the words so far, which depends on the machine."""
JUDGED_S = 0.1
"""From a pause to a second opinion on it, which depends on the machine as well."""
ANSWER_S = (0.1, 1.0)
"""From the end of a turn to ``tts start``: the default set of providers; a quick cloud one."""

_WINDOW = LISTEN_RATE // 100


@dataclass(frozen=True, slots=True)
class Utterance:
    """What a user says in one turn, with the pauses in it; 16 kHz, full scale is 1."""

    name: str
    sound: Floats

    @property
    def seconds(self) -> float:
        """Its length, pauses included."""
        return len(self.sound) / LISTEN_RATE


@dataclass(frozen=True, slots=True)
class Heard:
    """What the VAD station made of an utterance; times in seconds of audio.

    ``chunks``: what it passed on, each with the time of its packet's arrival. ``begins``, ``ends``:
    of the voice.
    """

    chunks: tuple[tuple[float, Chunk], ...]
    begins: float
    ends: float

    @property
    def hangover(self) -> float | None:
        """From the end of the voice to the silence that the VAD reports; None: it heard nothing."""
        ended = [(at, each) for at, each in self.chunks if isinstance(each, VoiceEnded)]
        if not ended:
            return None
        at, mark = ended[-1]
        return at - mark.silence_ms / 1000 - self.ends


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a threshold made of an utterance.

    ``resumed``: for each turn that ended before the utterance, the seconds until it was known that
    the user goes on. ``behind``: seconds of the utterance behind the first of these ends. ``wait``:
    from the end of the voice to the last end of turn. None: no turn was heard.
    """

    seconds: float
    resumed: tuple[float, ...]
    behind: float
    wait: float | None

    @property
    def cut(self) -> bool:
        """Whether a turn ended while more of the utterance was to come."""
        return bool(self.resumed)

    def answered_early(self, after: float) -> bool:
        """Whether an answer that is heard ``after`` seconds begins before the user goes on."""
        return any(gap > after for gap in self.resumed)


def voice_bounds(sound: Floats) -> tuple[float, float]:
    """Return where the voice begins and ends, in seconds, by its level in windows of 10 ms."""
    windows = sound[: len(sound) // _WINDOW * _WINDOW].reshape(-1, _WINDOW)
    if not len(windows):
        return 0.0, 0.0
    levels = np.sqrt(np.mean(np.square(windows, dtype=np.float64), axis=1))
    loud = np.flatnonzero(levels > np.quantile(levels, 0.95) * 10 ** (QUIET_DB / 20))
    if not len(loud):
        return 0.0, 0.0
    return int(loud[0]) * _WINDOW / LISTEN_RATE, (int(loud[-1]) + 1) * _WINDOW / LISTEN_RATE


def trimmed(sound: Floats) -> Floats:
    """Return the sound without the silence around the voice."""
    begins, ends = voice_bounds(sound)
    return sound[round(begins * LISTEN_RATE) : round(ends * LISTEN_RATE)]


def packets(utterance: Utterance, seed: int) -> Iterator[bytes]:
    """Yield the utterance as the server decodes it, in a quiet room: 60 ms of 16 kHz PCM each."""
    sound = utterance.sound
    peak = float(np.abs(sound).max()) or 1.0
    padded = np.concatenate(
        [
            np.zeros(int(LEAD_S * LISTEN_RATE), np.float32),
            sound * np.float32(10 ** (PEAK_DB / 20) / peak),
            np.zeros(int(TAIL_S * LISTEN_RATE), np.float32),
        ]
    )
    noise = np.random.default_rng(seed).standard_normal(len(padded)) * 10 ** (NOISE_DB / 20)
    samples = np.clip((padded + noise) * 32768, -32768, 32767).astype("<i2")
    encoder = Encoder(LISTEN_RATE, 60, opuslib.APPLICATION_AUDIO, 0)
    with OpusDecoder() as decoder:
        for start in range(0, len(samples) - FRAME_SAMPLES + 1, FRAME_SAMPLES):
            frame = samples[start : start + FRAME_SAMPLES].tobytes()
            yield decoder.decode(encoder.encode(frame))


async def hear(
    vad: VADProvider, utterance: Utterance, seed: int = 0, settings: VADSettings | None = None
) -> Heard:
    """Pass an utterance through the VAD station. ``settings``: default: its own."""
    # The detector is asked faster than in real time, so its answers have no deadline here.
    station = VADStation(vad, replace(settings or VADSettings(), timeout=3600.0))
    bind(station)
    # The station's deadline is a reading of the loop's clock.
    start = asyncio.get_running_loop().time()
    heard: list[tuple[float, Chunk]] = []
    begins, ends = (LEAD_S + at for at in voice_bounds(utterance.sound))
    for number, pcm in enumerate(packets(utterance, seed), 1):
        at = number * FRAME_S
        heard += [(at, mark) for mark in await station.feed(AudioIn(pcm, at), start + at)]
    await station.close()
    return Heard(tuple(heard), begins, ends)


class Words:
    """What a recogniser makes of the pauses of utterances; each is asked for once."""

    def __init__(self, asr: ASRProvider, hints: SpeechHints) -> None:
        self._asr = asr
        self._hints = hints
        self._known: dict[bytes, Recognition] = {}

    async def of(self, pcm: bytes) -> Recognition:
        """Return the words of a turn up to a pause."""
        if pcm not in self._known:
            stream = self._asr.open(self._hints)
            try:
                await stream.feed(pcm + EARLY_SILENCE)
                self._known[pcm] = await stream.finish()
            finally:
                await stream.close()
        return self._known[pcm]


class Opinions:
    """What a model makes of the pauses of utterances; each is asked for once."""

    def __init__(self, probability: Callable[[bytes], float]) -> None:
        """``probability``: that a turn is over; 16 kHz s16 mono."""
        self._probability = probability
        self._known: dict[bytes, bool] = {}
        self.seconds = 0.0
        """Of processor time, for all pauses."""

    @property
    def pauses(self) -> int:
        """How many it was asked about."""
        return len(self._known)

    async def __call__(self, pcm: bytes) -> bool:
        """Return whether more is to come."""
        if pcm not in self._known:
            began = process_time()
            self._known[pcm] = self._probability(pcm) < 0.5
            self.seconds += process_time() - began
        return self._known[pcm]


class _Questions:
    """What a detector asks its second opinion; each takes effect :data:`JUDGED_S` later."""

    def __init__(self) -> None:
        self._now = 0.0
        self._open: deque[tuple[float, Coroutine[Any, Any, None]]] = deque()

    def put(self, work: Coroutine[Any, Any, None]) -> None:
        """Take a question."""
        self._open.append((self._now + JUDGED_S, work))

    async def answered(self, now: float) -> None:
        """Have those answered that are old enough."""
        self._now = now
        while self._open and now >= self._open[0][0]:
            await self._open.popleft()[1]

    def close(self) -> None:
        """Forget the others."""
        for _, work in self._open:
            work.close()


async def decide(
    heard: Heard,
    end_silence_ms: int,
    words: Words | None = None,
    opinion: SecondOpinion | None = None,
) -> Outcome:
    """Pass what the VAD heard through the turn detector.

    Under a fixed silence, or with ``words`` under one that depends on them; ``opinion``: of a model
    besides.
    """
    # A turn that is too long is not what is measured.
    settings = TurnSettings(end_silence_ms=end_silence_ms, max_utterance_ms=600_000)
    policy = AdaptiveSilence(end_silence_ms / 1000)
    station = TurnDetectorStation(settings, None if words is None else lambda: policy, opinion)
    questions = _Questions()
    bind(station, questions.put)
    await station.feed(ListenStart(ListenMode.AUTO), 0.0)
    resumed: list[float] = []
    ended: float | None = None
    behind = 0.0
    spoken = b""
    early: tuple[float, EarlyTranscript] | None = None
    for at, chunk in heard.chunks:
        if early is not None and at >= early[0]:
            station.context.early, early = early[1], None
        await questions.answered(at)
        if isinstance(chunk, VoiceStarted) and ended is not None:
            if not resumed:
                behind = max(0.0, heard.ends - (at - chunk.ago_ms / 1000))
            resumed.append(at - ended)
            ended = None
        for each in await station.feed(chunk, at):
            match each:
                case TurnStarted():
                    spoken = b""
                case AudioIn(pcm=pcm):
                    spoken += pcm
                case TurnPaused(turn_id=turn_id) if words is not None:
                    early = at + WORDS_S, _early(turn_id, await words.of(spoken))
                case TurnResumed():
                    early = None
                case TurnEnded():
                    ended = at
                case _:
                    pass
    questions.close()
    wait = None if ended is None else ended - heard.ends
    return Outcome(heard.ends - heard.begins, tuple(resumed), behind, wait)


def _early(turn_id: int, heard: Recognition) -> EarlyTranscript:
    known = heard.completeness or completeness(heard.text, heard.language)
    return EarlyTranscript(turn_id, heard.text, heard.language, completeness=known)


def bind(
    station: ListeningStation,
    spawn: Callable[[Coroutine[Any, Any, None]], None] = lambda work: work.close(),
) -> None:
    """Give a station what it needs, without a session. ``spawn``: takes the work that it begins."""

    async def nothing(_: object) -> None:
        return None

    context = StationContext("", "", History(), ToolSet(), Counters(), spawn)
    station.bind(context, nothing)


@dataclass(frozen=True, slots=True)
class Line:
    """One threshold over a set of utterances. Shares are of 1, waits in seconds.

    ``cut``: utterances that were cut; ``behind``: of the seconds spoken, those behind the first
    cut; ``early``: utterances that an answer began within, for each of :data:`ANSWER_S`;
    ``a_minute``: cuts in a minute of speech.
    """

    end_silence_ms: int
    cut: float
    behind: float
    early: tuple[float, ...]
    a_minute: float
    wait_p50: float
    wait_p95: float


def later(plain: Sequence[Outcome], others: Sequence[Outcome]) -> float:
    """Return the share of the utterances whose end is found later, by more than a packet."""
    pairs = [(one.wait or 0.0, other.wait or 0.0) for one, other in zip(plain, others, strict=True)]
    return sum(other > one + 1.5 * FRAME_S for one, other in pairs) / max(1, len(pairs))


def summary(end_silence_ms: int, outcomes: Sequence[Outcome]) -> Line:
    """Return the line of a threshold."""
    number = max(1, len(outcomes))
    seconds = sum(each.seconds for each in outcomes) or 1.0
    waits = [each.wait for each in outcomes if each.wait is not None] or [0.0]
    return Line(
        end_silence_ms,
        sum(each.cut for each in outcomes) / number,
        sum(each.behind for each in outcomes) / seconds,
        tuple(sum(each.answered_early(after) for each in outcomes) / number for after in ANSWER_S),
        sum(len(each.resumed) for each in outcomes) * 60 / seconds,
        float(np.quantile(waits, 0.5)),
        float(np.quantile(waits, 0.95)),
    )
