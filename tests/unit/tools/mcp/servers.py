"""MCP servers as processes, in every transport, as context managers."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support import warm
from tests.support.servers import free_port
from tests.support.tool_sources import started
from tests.support.waiting import until
from vixio.core.backoff import Backoff
from vixio.tools.mcp.config import McpServerConfig, Transport
from vixio.tools.mcp.source import McpSource

SUPPORT = Path(__file__).parents[3] / "support"
SCRIPT = SUPPORT / "mcp_server.py"
BOUND = 90.0
"""Seconds for a server's process to come up on a busy machine."""

_PATHS = {"sse": "/sse", "streamable_http": "/mcp"}


class RunningServer:
    """A server on a port that can be killed and started again."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.port = free_port()
        self.process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{_PATHS[self.transport]}"

    async def start(self) -> None:
        self.process = await warm.create_subprocess_exec(
            *(sys.executable, str(SCRIPT), self.transport.replace("_", "-"), str(self.port)),
            cwd=Path.cwd(),
            env=warm.kept(),
            stderr=asyncio.subprocess.DEVNULL,
        )
        await until(self._listens, what="the server's port", seconds=BOUND)

    async def kill(self) -> None:
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()

    def _listens(self) -> bool:
        assert self.process is not None
        assert self.process.returncode is None
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def stdio(mode: str = "stdio", **options: Any) -> McpServerConfig:  # noqa: ANN401 - as the config has them
    config = McpServerConfig(
        "trouble",
        "stdio",
        command=sys.executable,
        args=(str(SCRIPT), mode),
        reconnect=Backoff(first=0.05, longest=0.5),
    )
    return replace(config, **options)


def plain(**options: Any) -> McpServerConfig:  # noqa: ANN401 - as above
    """A server that starts in no time: for tests of the process."""
    return stdio(args=(str(SUPPORT / "plain_mcp.py"),), **options)


def source_of(config: McpServerConfig) -> AbstractAsyncContextManager[McpSource]:
    """A started source whose first attempt is over."""
    return started(McpSource(config))


@asynccontextmanager
async def served(transport: Transport, **options: Any) -> AsyncIterator[McpServerConfig]:  # noqa: ANN401 - as above
    """The configuration of a server in this transport; one that has to run, runs."""
    if transport == "stdio":
        yield stdio(**options)
        return
    server = RunningServer(transport)
    await server.start()
    try:
        yield replace(stdio(), transport=transport, command="", args=(), url=server.url, **options)
    finally:
        await server.kill()
