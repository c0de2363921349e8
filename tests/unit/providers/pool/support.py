"""A provider that starts when the test lets it, and its choice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from vixio.core.errors import ProviderError
from vixio.core.metrics import Counters
from vixio.providers.pool.loader import ProviderLoader
from vixio.providers.registry import ProviderKind
from vixio.testing import ScriptedTTS


class Voice(ScriptedTTS):
    """Starts when ``loads`` is set; each attempt raises the next of ``errors``, if there is one."""

    def __init__(self, name: str, errors: Sequence[Exception] = ()) -> None:
        super().__init__()
        self.name = name
        self.errors = list(errors)
        self.loads = asyncio.Event()
        self.loads.set()
        self.starts = self.closes = 0
        self.outage: ProviderError | None = None

    async def start(self) -> None:
        self.starts += 1
        await self.loads.wait()
        if self.errors:
            raise self.errors.pop(0)

    async def close(self) -> None:
        self.closes += 1


@dataclass(frozen=True)
class Choice:
    """Equal names choose the same voice."""

    name: str
    errors: Sequence[Exception] = field(default=(), compare=False)
    made: list[Voice] = field(default_factory=list, compare=False)
    kind: ProviderKind = ProviderKind.TTS
    slow: bool = field(default=False, compare=False)

    def create(self) -> Voice:
        voice = Voice(self.name, self.errors)
        if self.slow:
            voice.loads.clear()
        self.made.append(voice)
        return voice


def loader(choice: Choice) -> ProviderLoader[Voice]:
    return ProviderLoader(choice, Counters())
