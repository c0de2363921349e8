"""What came out of a device's loudspeaker, laid beside what the voice made."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from firmware_test_client import Sentence
from firmware_test_client.playout import Heard
from vixio.providers.tts import TTSProvider

STORY: Final = (
    "Once upon a time there was a small server that lived in a cupboard under the stairs. "
    "In the evenings somebody asked it for a story."
)
LETTER_S: Final = 0.05
LOWEST_HZ: Final = 500.0
HZ_A_SECOND: Final = 200.0
"""Of the tone that tells a story: a packet of 60 ms differs by 12 Hz from the next."""
PURE: Final = 0.6
"""Of a packet's power, what is at the tone. A voice has much less at any place."""
QUIET: Final = 60.0
"""RMS of 16-bit samples below which packets are silence."""
PAUSE_S: Final = 0.1


class StoryTeller(TTSProvider):
    """Tells :data:`STORY` by a tone that rises throughout, so that each moment of it can be known
    again; says everything else by another voice."""

    name = "story"

    def __init__(self, voice: TTSProvider) -> None:
        self._voice = voice

    @property
    def sample_rate(self) -> int:  # type: ignore[override]
        """Of both, in Hz."""
        return self._voice.sample_rate

    async def start(self) -> None:
        """Start the other voice."""
        await self._voice.start()

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Yield the tone for a part of the story, or words."""
        place = STORY.find(text.strip())
        if place < 0:
            async for pcm in self._voice.synthesize(text, language=language):
                yield pcm
            return
        rate = self.sample_rate
        count = round((len(text.strip()) + 1) * LETTER_S * rate)
        time = place * LETTER_S + np.arange(count) / rate
        tone = np.sin(2 * np.pi * (LOWEST_HZ * time + HZ_A_SECOND / 2 * time**2))
        pcm = (6_000 * tone).astype("<i2").tobytes()
        for at in range(0, len(pcm), 2 * rate // 5):
            yield pcm[at : at + 2 * rate // 5]

    async def close(self) -> None:
        """Close the other voice."""
        await self._voice.close()


class Made:
    """The story, packet by packet, as it sounds when nobody disturbs it."""

    def __init__(self, packets: Sequence[Heard]) -> None:
        self.step_ms = packets[0].duration * 1000
        found = [_pitch(each) for each in packets]
        self._pitches = np.array([each for each in found if each is not None])

    def __len__(self) -> int:
        return len(self._pitches)

    def place(self, heard: Heard) -> int | None:
        """Return which packet this is; None: of something else."""
        pitch = _pitch(heard)
        if pitch is None:
            return None
        away = np.abs(self._pitches - pitch)
        best = int(np.argmin(away))
        return best if away[best] < HZ_A_SECOND * self.step_ms / 1000 else None


def _pitch(heard: Heard) -> float | None:
    """Return the tone of a packet in Hz; None: it is none."""
    sound = np.frombuffer(heard.pcm, "<i2").astype(np.float64)
    if np.sqrt(np.mean(sound**2)) <= QUIET:
        return None
    size = 8 * len(sound)
    power = np.abs(np.fft.rfft(sound * np.hanning(len(sound)), size)) ** 2
    best = int(np.argmax(power))
    width = 8 * 3
    if power[max(0, best - width) : best + width + 1].sum() < PURE * power.sum():
        return None
    return best * heard.rate / size


@dataclass(frozen=True, slots=True)
class Course:
    """What a user heard of a speech.

    ``silent_at``: when its last sample was played before the first pause in it, or at its end.
    ``resumed_ms``: by how much it went on behind where it had paused, above 0: not heard, below:
    heard again; None: it did not go on. ``missing_ms``, ``repeated_ms``: of its sound, up to the
    last that was heard.
    """

    silent_at: float
    resumed_ms: float | None
    pauses: int
    missing_ms: float
    repeated_ms: float
    whole: bool
    """Whether its end was heard."""


def course(made: Made, heard: Sequence[Heard], since: float) -> Course | None:
    """Return what was heard of a speech; None: nothing. ``since``: when it was disturbed."""
    told = [(each, place) for each in heard if (place := made.place(each)) is not None]
    if not told:
        return None
    silent_at, resumed, pauses = told[-1][0].time + told[-1][0].duration, None, 0
    for (before, place), (after, following) in pairwise(told):
        end = before.time + before.duration
        if after.time - end > PAUSE_S:
            pauses += 1
            if pauses == 1:
                silent_at = end
            moved = (following - place - 1) * made.step_ms
            if resumed is None or abs(moved) > abs(resumed):
                resumed = moved
    places = [place for _, place in told]
    last = max(places)
    return Course(
        max(silent_at, since),
        resumed,
        pauses,
        (last + 1 - len(set(places))) * made.step_ms,
        (len(places) - len(set(places))) * made.step_ms,
        last >= len(made) - 2,
    )


def subtitles(heard: Sequence[Heard], shown: Sequence[Sentence]) -> list[float]:
    """Return by how many ms each sentence of the story was shown before its sound; below 0: behind
    it. Of those that were heard."""
    ahead = []
    for sentence in shown:
        place = STORY.find(sentence.text.strip())
        lowest = LOWEST_HZ + HZ_A_SECOND * max(0, place) * LETTER_S
        for each in heard if place >= 0 else ():
            if each.time + each.duration > sentence.time - 1 and (_pitch(each) or 0) >= lowest:
                ahead.append((each.time - sentence.time) * 1000)
                break
    return ahead
