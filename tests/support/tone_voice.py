"""A voice that settings can choose: it speaks everything as a tone of so many Hz."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint

import numpy as np
import pytest
from pydantic import BaseModel, ConfigDict

from vixio.core import plugins
from vixio.providers.registry import ENTRY_POINT_GROUP, ProviderFactory
from vixio.providers.tts import TTSProvider

SECONDS = 0.6


class ToneSettings(BaseModel):
    """The options of the provider."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    hertz: int = 440
    slow: bool = False
    """Starts when the test sets ``loads``."""


class ToneVoice(TTSProvider):
    """Made through the registry; ``made`` has all instances."""

    name = "tone"
    sample_rate = 24_000
    made: list[ToneVoice] = []  # noqa: RUF012 - emptied for each test by `tones`

    def __init__(self, settings: ToneSettings) -> None:
        self.hertz = settings.hertz
        self.starts = self.closes = 0
        self.loads = asyncio.Event()
        if not settings.slow:
            self.loads.set()
        ToneVoice.made.append(self)

    async def start(self) -> None:
        self.starts += 1
        await self.loads.wait()

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        times = np.arange(round(SECONDS * self.sample_rate)) / self.sample_rate
        yield (9000 * np.sin(2 * math.pi * self.hertz * times)).astype("<i2").tobytes()

    async def close(self) -> None:
        self.closes += 1


FACTORY = ProviderFactory(ToneSettings, ToneVoice)


@contextmanager
def tones(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ToneVoice]]:
    """Register the voice as another distribution would; yield those that are made."""
    point = EntryPoint("tts.tone", f"{__name__}:FACTORY", ENTRY_POINT_GROUP)
    monkeypatch.setattr(plugins, "installed", lambda group: (point,) * (group == point.group))
    ToneVoice.made.clear()
    yield ToneVoice.made
