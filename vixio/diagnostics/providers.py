"""What the trials have in common: a started provider, the time things take, a device's words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol, TypeVar

from vixio.bench.speech_corpus.device import TOOLS
from vixio.core.errors import ProviderTimeout
from vixio.core.tools.toolset import DEVICE_SOURCE, ToolSet
from vixio.providers.asr import SpeechHints
from vixio.tools.builtin import BUILTIN_SOURCE, builtin_source

T = TypeVar("T")

START_TIMEOUT_S = 600.0
"""For a model to be loaded; some are fetched the first time."""

_USUAL = ("self.audio_speaker.", "self.screen.", "self.lamp.", "self.get_device_status")


class Startable(Protocol):
    """What the kinds of providers have in common."""

    name: str

    async def start(self) -> None: ...
    async def close(self) -> None: ...


StartableT = TypeVar("StartableT", bound=Startable)


@dataclass(frozen=True, slots=True)
class Timing:
    """How long it took, in seconds. ``audio``: the length of what was spoken or heard."""

    audio: float
    ready: float
    """Until the provider was loaded; not part of the following."""
    first: float | None
    """Until there was a first piece; None: there never was."""
    total: float

    @property
    def real_time_factor(self) -> float:
        """Return ``total`` for each second of audio; below 1 is faster than real time."""
        return self.total / self.audio if self.audio else 0.0

    def described(self, first: str) -> str:
        """Return the figures in one line; ``first`` names what came first."""
        began = f"{first} after {self.first:.3f} s, " if self.first is not None else ""
        return (
            f"{self.audio:.2f} s of audio: loaded in {self.ready:.2f} s; {began}"
            f"all after {self.total:.3f} s, real-time factor {self.real_time_factor:.3f}"
        )


@asynccontextmanager
async def started(
    provider: StartableT, seconds: float = START_TIMEOUT_S
) -> AsyncIterator[StartableT]:
    """Start ``provider`` within ``seconds``, and close it at the end."""
    try:
        await bounded(provider.start(), provider.name, "readiness", seconds)
        yield provider
    finally:
        await provider.close()


async def bounded(work: Awaitable[T], provider: str, what: str, seconds: float) -> T:
    """Return what ``work`` gives; raise ProviderTimeout when it takes longer than ``seconds``."""
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await work
    except TimeoutError:
        if limit.expired():
            raise ProviderTimeout(provider, what, seconds) from None
        raise


def usual_hints(language: str) -> SpeechHints:
    """Return what a usual device would let a recogniser expect: its own tools and the built-in."""
    tools = ToolSet()
    tools.replace(BUILTIN_SOURCE, builtin_source().tools())
    tools.replace(DEVICE_SOURCE, (tool for tool in TOOLS if tool.name.startswith(_USUAL)))
    return SpeechHints(tools.definitions(), language)
