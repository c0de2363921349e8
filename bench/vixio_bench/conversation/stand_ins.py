"""Providers that take a fixed time, and hear in a sound what is marked on it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from vixio.core.chunk import TextDelta
from vixio.providers.agent import AgentEvent, AgentProvider, AgentRequest
from vixio.providers.asr import ASRProvider, ASRStream, Recognition, SpeechHints
from vixio.server import Providers
from vixio.testing.voices import Floats
from vixio_bench.load import marker
from vixio_bench.load.providers import CannedTTS, Delays, EchoAgent, EchoBackend
from vixio_bench.load.services.scripted import NOBODY, heard

DELAYS: Final = Delays(asr=0.3, agent=0.4, tts=0.2)
"""Seconds until the words, the first token, the first audio."""


HANGS_S: Final = 60.0
"""Longer than any limit."""
LATE_S: Final = 1.5
"""A piece of a sentence that comes late, and comes."""


@dataclass(slots=True)
class Stalls:
    """Where the next turn of a device is held up, by the device's number; each once."""

    at: dict[int, str] = field(default_factory=dict)

    async def hold(self, number: int | None, part: str, seconds: float = HANGS_S) -> None:
        """Wait, if this part of this device's turn is to be held up."""
        if number is not None and self.at.get(number) == part:
            del self.at[number]
            await asyncio.sleep(seconds)


class MarkedWords(ASRProvider):
    """Hears freely: the words of the number that is marked on a sound, nothing without one.

    ``otherwise``: what it hears then, "" for a sound without words.
    """

    name = "marked"

    def __init__(
        self,
        words: Mapping[int, str],
        delays: Delays | None = None,
        otherwise: str = "",
        stalls: Stalls | None = None,
    ) -> None:
        self.words = words
        self.delays = delays or Delays()
        self.otherwise = otherwise
        self.stalls = stalls or Stalls()

    async def start(self) -> None:
        """Nothing is heavy."""

    def open(self, hints: SpeechHints) -> ASRStream:
        """Begin to listen."""
        return _MarkedStream(self)

    async def close(self) -> None:
        """Nothing to release."""


class _MarkedStream(ASRStream):
    def __init__(self, provider: MarkedWords) -> None:
        self._provider = provider
        self._pcm = bytearray()

    async def feed(self, pcm: bytes) -> None:
        self._pcm += pcm

    async def finish(self) -> Recognition:
        provider = self._provider
        if provider.delays.asr:
            await asyncio.sleep(provider.delays.asr)
        # A short word does not fill the window by itself.
        said = heard(bytes(self._pcm) + bytes(2 * marker.WINDOW))
        number = None if said == NOBODY else int(said.removeprefix("device "))
        await provider.stalls.hold(number, "words")
        words = provider.otherwise if number is None else provider.words.get(number, "")
        return Recognition(words, rejected=not words)

    async def close(self) -> None:
        pass


LAST: Final = "And this is the last that it has to say of it."


class StallingBackend(EchoBackend):
    """Agents that say who asked, in two sentences, and are held up."""

    def __init__(self, delays: Delays, stalls: Stalls) -> None:
        super().__init__(delays)
        self._delays = delays
        self._stalls = stalls

    def create(self) -> AgentProvider:
        """Return the agent of one session."""
        return _StallingAgent(self._delays, self._stalls)


class _StallingAgent(EchoAgent):
    def __init__(self, delays: Delays, stalls: Stalls) -> None:
        super().__init__(delays, "")
        self._stalls = stalls

    async def reply(self, request: AgentRequest) -> AsyncIterator[AgentEvent]:
        number = _number(request.text)
        await asyncio.sleep(self._delays.agent)
        await self._stalls.hold(number, "model")
        name = "Nobody" if number is None else f"Device {number}"
        said = f"{name} in turn {request.turn_id} has asked, and so it is told. {LAST}"
        for index, word in enumerate(said.split(" ")):
            yield TextDelta(request.turn_id, f"{word} ")
            if index == 3:
                await self._stalls.hold(number, "model in mid sentence")


class StallingTTS(CannedTTS):
    """Speaks as :class:`CannedTTS`, and is held up."""

    def __init__(self, delays: Delays, stalls: Stalls) -> None:
        super().__init__(delays)
        self._stalls = stalls

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Yield as much speech as ``text`` says."""
        number = _number(text)
        await self._stalls.hold(number, "voice")
        pieces = 0
        async for piece in super().synthesize(text, language=language):
            yield piece
            pieces += 1
            if pieces == 3:
                await self._stalls.hold(number, "voice in mid sentence", LATE_S)


def _number(text: str) -> int | None:
    found = re.search(r"device (\d+)", text, re.IGNORECASE)
    return int(found[1]) if found else None


def marked(sound: Floats, number: int) -> Floats:
    """Return the sound (16 kHz, full scale 1) with a number on it."""
    samples = np.clip(sound * 32768, -32768, 32767).astype(np.int16)
    return np.asarray(marker.mark(samples, number) / np.float32(32768), np.float32)


def slow_providers(delays: Delays = DELAYS) -> Providers:
    """Return stand-ins for services that take their time: any words get an answer of 3 s."""
    asr = MarkedWords({}, delays, otherwise="who wrote this book")
    return Providers(asr=asr, agent=EchoBackend(delays), tts=CannedTTS(delays))
