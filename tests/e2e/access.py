"""A running server with access points, and what a session of a profile sees of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import RunningServer, serving
from tests.support.waiting import until
from vixio.core.device import DeviceProfile
from vixio.core.tools.session import SessionTools
from vixio.core.tools.source import Scope
from vixio.core.tools.types import ToolCallResult
from vixio.settings import Settings
from vixio.testing import ScriptedTTS

BOUND_S = 60.0
KITCHEN, HALL = Scope(profile="kitchen"), Scope(profile="hall")


async def address(server: RunningServer, scope: Scope, path: str = "/mcp/") -> str:
    """Make the access point of a profile, and the profile; return the address."""
    registry = server.app.registry
    if scope.profile:
        await registry.with_repository(lambda each: each.profiles.put(scope.profile, {}, "me"))
    _, token = await registry.with_repository(lambda each: each.access_points.create(scope, "me"))
    return f"{server.http_url.replace('http', 'ws')}{path}?token={token}"


@asynccontextmanager
async def quiet(config: Settings | None = None) -> AsyncIterator[RunningServer]:
    """Run a server at which no word is spoken."""
    voice = ScriptedTTS(seconds_per_char=0.01)
    async with serving(config, asr=WaveformASR({}), tts=voice, loaded=False) as server:
        yield server


class Listener:
    """The tools of a session of a profile."""

    def __init__(self, server: RunningServer, profile: str = "kitchen", device: str = "x") -> None:
        self.tools: SessionTools = server.app.tools.open(
            device, f"{device}-{profile}", DeviceProfile(assigned=profile)
        )

    def names(self) -> list[str]:
        """Return the names of the tools of sources with a scope."""
        listed = self.tools.toolset.definitions()
        return [tool.alias for tool in listed if "/" in tool.source]

    async def sees(self, *names: str) -> None:
        """Wait until it has these tools, and no others of such sources."""
        await until(lambda: self.names() == list(names), what=f"tools {names}", seconds=BOUND_S)

    async def call(self, alias: str, arguments: str = "{}") -> ToolCallResult:
        """Call a tool as a model does."""
        tool = self.tools.toolset.find(alias)
        assert tool is not None, alias
        async with asyncio.timeout(BOUND_S):
            return await self.tools.begin_turn(1, "en").run(tool, arguments)
