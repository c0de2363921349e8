"""What the trials have in common: a started provider, the time things take, a device's words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from vixio.core.errors import ProviderTimeout
from vixio.core.tools.toolset import DEVICE_SOURCE, ToolSet
from vixio.core.tools.types import ToolDefinition
from vixio.providers.asr import SpeechHints
from vixio.tools.builtin import BUILTIN_SOURCE, STATUS_TOOL, builtin_source

T = TypeVar("T")

START_TIMEOUT_S = 600.0
"""For a model to be loaded; some are fetched the first time."""


def _tool(name: str, description: str, **properties: dict[str, Any]) -> ToolDefinition:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return ToolDefinition(name, description, schema)


_PERCENT = {"type": "integer", "minimum": 0, "maximum": 100}

COMMON_TOOLS = (
    _tool(STATUS_TOOL, "Provides the real-time information of the device."),
    _tool("self.audio_speaker.set_volume", "Set the volume.", volume=_PERCENT),
    _tool("self.screen.set_brightness", "Set the brightness of the screen.", brightness=_PERCENT),
    _tool("self.screen.set_theme", "Set the theme of the screen.", theme={"type": "string"}),
    _tool("self.lamp.get_state", "Get the power state of the lamp"),
    _tool("self.lamp.turn_on", "Turn on the lamp"),
    _tool("self.lamp.turn_off", "Turn off the lamp"),
)
"""Those that most devices offer: main/mcp_server.cc and main/boards/common of the firmware."""


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
    """Return what a recogniser may expect from a usual device: its tools and the built-in ones."""
    tools = ToolSet()
    tools.replace(BUILTIN_SOURCE, builtin_source().tools())
    tools.replace(DEVICE_SOURCE, COMMON_TOOLS)
    return SpeechHints(tools.definitions(), language)
