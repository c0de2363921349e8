"""The voice: settings, the provider, the factory that the entry point names.

This module is imported to check the settings, so it imports nothing slow. What a vendor's library
takes to load belongs into ``start``, and into a thread: ``await asyncio.to_thread(load)``.
"""

from __future__ import annotations

import array
import asyncio
import math
import sys
from collections.abc import AsyncIterator
from functools import lru_cache

from pydantic import BaseModel, ConfigDict, Field

from vixio.core.errors import ProviderError
from vixio.providers.registry import ProviderFactory
from vixio.providers.tts import TTSProvider

NAME = "tones"

_FADE_MS = 5
"""At both ends of a tone: one that is cut off clicks."""

_STEPS = 24
"""Different tones, two octaves of semitones."""


class TonesSettings(BaseModel):
    """Options of the section ``tts`` when its name is ``tones``.

    ``extra="forbid"`` turns a mistyped key into one line that says so. Every option has a default,
    so that ``tts: {name: tones}`` alone is a configuration.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    lowest: float = Field(default=220.0, ge=50, le=2_000, description="Hz")
    letter_ms: int = Field(default=60, ge=20, le=1_000)
    sample_rate: int = Field(default=16_000, ge=8_000, le=48_000, description="Hz")


class TonesTTSProvider(TTSProvider):
    """One for the whole process; sentences of several devices are spoken at the same time."""

    name = NAME

    def __init__(self, settings: TonesSettings | None = None) -> None:
        self._settings = settings or TonesSettings()
        self.sample_rate = self._settings.sample_rate
        self._running = False
        self._closed = False

    async def start(self) -> None:
        """Be ready. Loading a model or connecting a client would stand here."""
        self._check_open()
        self._running = True

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Yield the PCM of ``text``, a letter at a time."""
        for letter in text:
            self._check_open()
            if not self._running:
                raise ProviderError(NAME, "it was not started", retryable=False)
            if letter.isalnum():
                yield tone(self._settings, ord(letter.casefold()[0]) % _STEPS)
            elif letter.isspace() and any(map(str.isalnum, text)):
                yield bytes(2 * _samples(self._settings))
            # A long text must not keep the event loop from the other devices.
            await asyncio.sleep(0)

    async def close(self) -> None:
        """Fail what is being spoken. Idempotent."""
        self._closed = True
        self._running = False

    def _check_open(self) -> None:
        if self._closed:
            raise ProviderError(NAME, "the provider is closed", retryable=False)


def _samples(settings: TonesSettings) -> int:
    return settings.sample_rate * settings.letter_ms // 1000


@lru_cache(maxsize=_STEPS)
def tone(settings: TonesSettings, step: int) -> bytes:
    """Return one letter's PCM: 16-bit little-endian mono, ``step`` semitones above the lowest."""
    samples = _samples(settings)
    fade = settings.sample_rate * _FADE_MS // 1000
    turn = 2 * math.pi * settings.lowest * 2 ** (step / 12) / settings.sample_rate
    pcm = array.array(
        "h",
        (
            round(8_000 * math.sin(turn * at) * min(1.0, at / fade, (samples - 1 - at) / fade))
            for at in range(samples)
        ),
    )
    if sys.byteorder == "big":
        pcm.byteswap()
    return pcm.tobytes()


def _create(settings: TonesSettings) -> TonesTTSProvider:
    return TonesTTSProvider(settings)


FACTORY = ProviderFactory(settings_model=TonesSettings, create=_create)
