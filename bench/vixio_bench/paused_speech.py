"""Speech with pauses in it, for the measurement of the end of a turn.

Made: commands spoken by eSpeak NG, with a hesitation where people hesitate, in front of what they
have to think of. Recorded: audio files, each taken for one utterance.

Durations of silent pauses are log-normal (Campione & Véronis, "A large-scale multilingual study of
silent pause duration", Speech Prosody 2002: 6,000 pauses in five languages), in three classes:
brief, below 200 ms; medium, to 1 s; long, above 1 s and only in spontaneous speech. The classes
are theirs. The median and the spread of the hesitations here are an assumption: they put 12 % in
the brief class, 81 % in the medium one and 6 % in the long one.
"""

from __future__ import annotations

import asyncio
import math
import wave
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import soxr

from vixio.core.audio import LISTEN_RATE
from vixio.providers.tts import TTSProvider
from vixio.testing.voices import Floats, Speaker, Voices
from vixio_bench.end_of_turn import Utterance, trimmed
from vixio_bench.speech_corpus import load_corpus

T = TypeVar("T")

PAUSE_MEDIAN_S = 0.4
PAUSE_SPREAD = 0.6
"""Standard deviation of the natural logarithm."""

HESITATING: tuple[tuple[str, ...], ...] = (
    ("set a timer", "for ten minutes"),
    ("wake me up", "at half past six"),
    ("remind me", "to call my sister"),
    ("remind me tomorrow", "to take out the bins"),
    ("add milk", "eggs", "and bread", "to the shopping list"),
    ("put butter", "and two lemons", "on the list"),
    ("what is the weather", "in Berlin"),
    ("will it rain", "on Saturday afternoon"),
    ("play something", "by the Beatles"),
    ("turn on the light", "in the kitchen"),
    ("turn off the lamp", "and the heating", "in the bedroom"),
    ("set the volume", "to thirty percent"),
    ("set the light", "to a warm orange"),
    ("how do I get", "to the main station"),
    ("how long", "should I boil the eggs"),
    ("who wrote", "the old man and the sea"),
    ("what is seventeen", "times twenty four"),
    ("translate", "where is the bakery", "into Spanish"),
    ("send a message to Peter", "I will be ten minutes late"),
    ("write down", "the plumber comes on Friday", "between eight and ten"),
    ("tell me a story", "about a dragon", "who is afraid of mice"),
    ("I would like to know", "when the museum opens"),
    ("call", "doctor Smith"),
    ("my phone number is", "five five five", "two three", "seven eight"),
)
"""Each tuple is one turn; a pause stands between two of its parts."""

KNOWN: tuple[tuple[str, ...], ...] = (
    ("set the volume", "to thirty percent"),
    ("turn on", "the lamp"),
    ("please switch", "the lamp off"),
    ("what time", "is it"),
    ("what is", "the battery level"),
    ("set the brightness", "of the led strip", "to three"),
    ("make the chassis", "dance"),
    ("set the light", "to blue"),
    ("switch to", "the dark theme"),
    ("set the fan mode to", "turbo"),
    ("turn the volume down to", "forty two"),
    ("take", "a picture"),
)
"""The same of commands that the phrase book knows."""


class Speaks(Protocol):
    """Speaks as :class:`~vixio.testing.voices.Voices` does."""

    @property
    def sample_rate(self) -> int:
        """Of what :meth:`speak` returns, in Hz."""
        ...

    def speak(self, text: str, speaker: Speaker, seed: int) -> bytes:
        """Return the voice alone, 16-bit PCM."""
        ...


class NaturalVoice:
    """The voice of a provider, whoever is to speak. Blocking, also while a loop runs."""

    def __init__(self, tts: TTSProvider) -> None:
        self._tts = tts
        self._thread = ThreadPoolExecutor(1)
        self._runner = asyncio.Runner()
        self._in_loop(tts.start())

    @property
    def sample_rate(self) -> int:
        """Of what :meth:`speak` returns, in Hz."""
        return self._tts.sample_rate

    def speak(self, text: str, speaker: Speaker, seed: int) -> bytes:
        """Return the voice alone, 16-bit PCM."""
        return self._in_loop(self._speak(text))

    def close(self) -> None:
        """Close the provider."""
        self._in_loop(self._tts.close())
        self._thread.submit(self._runner.close).result()
        self._thread.shutdown()

    async def _speak(self, text: str) -> bytes:
        return b"".join([chunk async for chunk in self._tts.synthesize(text)])

    def _in_loop(self, work: Coroutine[Any, Any, T]) -> T:
        return self._thread.submit(self._runner.run, work).result()


def _speakers(natural: Speaks | None) -> Sequence[Speaker]:
    speakers = load_corpus("held-out").speakers
    return speakers if natural is None else speakers[:1]


def fluent(limit: int | None = None, natural: Speaks | None = None) -> Iterator[Utterance]:
    """Yield the sentences of the held-out corpus without a pause, in its five voices.

    ``limit``: so many sentences in each voice. ``natural``: speaks instead of them.
    """
    texts = [
        *(text for text, _ in load_corpus("held-out").commands),
        *load_corpus("held-out").free,
    ][:limit]
    voices = natural or Voices(repeatable=True)
    for speaker in _speakers(natural):
        for text in texts:
            yield Utterance(text, _spoken(voices, text, speaker))


def hesitating(
    seed: int,
    limit: int | None = None,
    commands: Sequence[tuple[str, ...]] = HESITATING,
    natural: Speaks | None = None,
    behind: str = "",
) -> Iterator[Utterance]:
    """Yield ``commands`` with drawn pauses, in the five voices.

    ``natural``: speaks instead of them. ``behind``: is said before each pause: "," for its
    intonation (without, each part ends as at a full stop), or a filler.
    """
    generator = np.random.default_rng(seed)
    voices = natural or Voices(repeatable=True)
    for speaker in _speakers(natural):
        for written in commands[:limit]:
            parts = (*(part + behind for part in written[:-1]), written[-1])
            drawn = generator.lognormal(math.log(PAUSE_MEDIAN_S), PAUSE_SPREAD, len(parts) - 1)
            yield paused(voices, parts, drawn.tolist(), speaker)


def with_pause(seconds: float, limit: int | None = None) -> Iterator[Utterance]:
    """Yield the same commands with one pause each, of ``seconds``, before the last part."""
    voices = Voices(repeatable=True)
    for speaker in load_corpus("held-out").speakers:
        for parts in HESITATING[:limit]:
            first, last = " ".join(parts[:-1]), parts[-1]
            yield paused(voices, (first, last), [seconds], speaker)


def paused(
    voices: Speaks, parts: Sequence[str], pauses: Sequence[float], speaker: Speaker
) -> Utterance:
    """Return ``parts`` in one voice with ``pauses`` (seconds) of silence between them."""
    pieces = [_spoken(voices, parts[0], speaker)]
    for part, pause in zip(parts[1:], pauses, strict=True):
        pieces += [np.zeros(round(pause * LISTEN_RATE), np.float32), _spoken(voices, part, speaker)]
    return Utterance(" … ".join(parts), np.concatenate(pieces))


def _spoken(voices: Speaks, text: str, speaker: Speaker) -> Floats:
    return trimmed(_at_listen_rate(voices.speak(text, speaker, seed=0), voices.sample_rate))


def _at_listen_rate(pcm: bytes, rate: int) -> Floats:
    sound = np.frombuffer(pcm, "<i2").astype(np.float32) / np.float32(32768)
    return np.asarray(soxr.resample(sound, rate, LISTEN_RATE), np.float32)


def recorded(paths: Sequence[Path]) -> Iterator[Utterance]:
    """Yield each audio file as one utterance; of a folder, all that are below it.

    WAV of 16 bit is read with what Vixio has; other files need the package soundfile. Of several
    channels the first counts. Raises ValueError with the file's name if one cannot be read.
    """
    for path in paths:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if path.is_dir() and file.suffix.lower() not in (".wav", ".flac", ".ogg", ".mp3"):
                continue
            sound = trimmed(_read(file))
            if len(sound):
                yield Utterance(file.name, sound)


def _read(file: Path) -> Floats:
    try:
        with wave.open(str(file)) as opened:
            channels, rate = opened.getnchannels(), opened.getframerate()
            if opened.getsampwidth() == 2:
                pcm = opened.readframes(opened.getnframes())
                first = np.frombuffer(pcm, "<i2").reshape(-1, channels)[:, 0]
                return _at_listen_rate(first.tobytes(), rate)
    except (wave.Error, EOFError):
        pass
    try:
        import soundfile
    except ImportError:
        raise ValueError(f"{file}: no WAV of 16 bit; pip install soundfile") from None
    try:
        sound, rate = soundfile.read(str(file), dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise ValueError(f"{file}: {error}") from error
    return np.asarray(soxr.resample(sound[:, 0], rate, LISTEN_RATE), np.float32)
