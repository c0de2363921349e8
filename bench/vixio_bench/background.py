"""Others who talk in the room while the user speaks, and when a turn ends there."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from vixio.core.audio import LISTEN_RATE
from vixio.core.chunk import AudioIn, ListenMode, ListenStart, TurnEnded
from vixio.providers.vad import VADProvider
from vixio.stations.turn_detector import TurnDetectorStation, TurnSettings
from vixio.stations.vad import VADSettings, VADStation
from vixio.testing.voices import Floats, Speaker, Voices
from vixio_bench.end_of_turn import FRAME_S, LEAD_S, Utterance, bind, packets
from vixio_bench.paused_speech import paused

SPEAKERS: Final = (
    Speaker("en-us+m7", rate=172, pitch=40),
    Speaker("en-us+f2", rate=150, pitch=62),
    Speaker("en-us+m2", rate=160, pitch=34),
    Speaker("en-us+f4", rate=176, pitch=70),
    Speaker("de+m3", rate=158, pitch=45),
    Speaker("fr+f1", rate=166, pitch=55),
)
SAID: Final = (
    "the trains are late again because of the weather",
    "she told me about it at the market",
    "and now for the news from the south of the country",
    "I would rather have the soup",
    "they have never seen so many visitors in one summer",
    "nobody knew where the key was",
)
BEFORE_S, BEHIND_S = 1.0, 4.0
"""For which others talk before and behind the user."""
SOON_S: Final = 1.5
"""Behind the user's last sound, by which a turn should have ended."""


@dataclass(frozen=True, slots=True)
class Among:
    """What a user says among others; times in seconds of the sound."""

    utterance: Utterance
    begins: float
    ends: float


def among(
    voices: Voices, said: Utterance, number: int, quieter_db: float, draw: np.random.Generator
) -> Among:
    """Return ``said`` while so many others talk, before and behind it as well.

    Together they are quieter by ``quieter_db`` than the user, both without their pauses.
    """
    before, behind = (round(seconds * LISTEN_RATE) for seconds in (BEFORE_S, BEHIND_S))
    sound = np.pad(said.sound, (before, behind))
    talk = np.zeros_like(sound)
    for who in SPEAKERS[:number]:
        filled = 0
        while filled < len(talk):
            text = SAID[draw.integers(len(SAID))]
            words = _level(paused(voices, [text], [], who).sound)[: len(talk) - filled]
            talk[filled : filled + len(words)] += words
            filled += len(words) + round(draw.exponential(0.2) * LISTEN_RATE)
    sound += _level(talk) * np.float32(_rms(said.sound) * 10 ** (-quieter_db / 20))
    ends = (before + len(said.sound)) / LISTEN_RATE
    return Among(Utterance(said.name, sound), BEFORE_S, ends)


@dataclass(frozen=True, slots=True)
class Ended:
    """``cut``: a turn ended while the user spoke; ``wait``: from the user's last sound to the end
    of the turn, in seconds; None: it ended with the others', or not at all."""

    cut: bool
    wait: float | None


async def end_of_turn(vad: VADProvider, said: Among, settings: VADSettings, seed: int) -> Ended:
    """Pass what is heard through the VAD and the turn detector, by the time of the audio."""
    detector = VADStation(vad, replace(settings, timeout=3600.0))
    turns = TurnDetectorStation(TurnSettings())
    for station in (detector, turns):
        bind(station)
        await station.feed(ListenStart(ListenMode.AUTO), 0.0)
    start = asyncio.get_running_loop().time()  # its clock has the detector's deadline
    ends: list[float] = []
    for number, pcm in enumerate(packets(said.utterance, seed), 1):
        at = number * FRAME_S - LEAD_S
        if at > said.ends + BEHIND_S:
            break
        for mark in await detector.feed(AudioIn(pcm, at), start + at):
            ended = any(isinstance(each, TurnEnded) for each in await turns.feed(mark, at))
            if ended and at > said.begins:
                ends.append(at)
    await detector.close()
    behind = [at - said.ends for at in ends if at >= said.ends]
    return Ended(any(at < said.ends for at in ends), behind[0] if behind else None)


def _level(sound: Floats) -> Floats:
    return sound / np.float32(_rms(sound))


def _rms(sound: Floats) -> float:
    """Return the RMS of a voice without its pauses."""
    windows = sound[: len(sound) // 512 * 512].reshape(-1, 512)
    energies = np.mean(np.square(windows, dtype=np.float64), axis=1)
    return float(np.sqrt(energies[energies > energies.max() / 1000].mean()))
