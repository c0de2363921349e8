"""The demo's tool service on a broker: tells a story piece by piece.

On a NATS server of the demo's own, a process of its own: ``vixio tool-service``. Without NATS it
runs in the server's process, on the broker in memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from vixio.bus import DynamicToolService, ToolError, connect
from vixio.bus.address import parse_address
from vixio.bus.connect import load_client
from vixio.bus.runner import run_service
from vixio.core import children
from vixio.core.errors import PluginUnavailable
from vixio_bench.nats_server import HOW_TO_GET, find_program, nats_server

BEGINNING: Final = ("Once upon a time, ", "a robot ", "lived in ", "a small house. ")
END: Final = ("Then somebody ", "said hello, ", "and it was ", "never alone again.")

LISTENING_S: Final = 30.0
"""Seconds that the storyteller waits for a listener."""

TOOL: Final = {
    "name": "read_story",
    "description": "Read the story",
    "service": "story",
    "stream": "say",
    "read_only": True,
}


class StoryService(DynamicToolService):
    """Tells the end of its story only when the beginning was heard: the file ``heard`` exists."""

    id = "story"
    config_params = ({"name": "heard", "required": True},)

    async def invoke(
        self, user: str, config: dict[str, Any], arguments: dict[str, Any]
    ) -> AsyncIterator[str]:
        """Yield the story in pieces of some words, as a language model does."""
        for piece in BEGINNING:
            yield piece
        try:
            async with asyncio.timeout(LISTENING_S):
                # The listener is another process, and a file all that both see.
                while not await asyncio.to_thread(Path(config["heard"]).exists):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise ToolError("failed", "nobody listens") from None
        for piece in END:
            yield piece


def section(url: str, heard: Path) -> dict[str, Any]:
    """Return the setting ``tools.broker`` with the service and its tool."""
    tool = {**TOOL, "heard": str(heard)}
    return {"url": url, "services": [StoryService().descriptor()], "tools": [tool]}


@asynccontextmanager
async def telling() -> AsyncIterator[str]:
    """Run the service until the block ends; yields the URL of the broker."""
    what = await asyncio.to_thread(lacking)
    if what:
        print(f"{what}; the story's service runs on memory:// instead")
        async with _in_this_process() as url:
            yield url
        return
    async with nats_server() as url, _process(url):
        yield url


def lacking() -> str:
    """Return in one line what NATS lacks here; empty: nothing."""
    try:
        load_client(parse_address("nats://127.0.0.1"))
    except PluginUnavailable as error:
        return str(error)
    return "" if find_program() else HOW_TO_GET


@asynccontextmanager
async def _process(url: str) -> AsyncIterator[None]:
    target = "examples.demos.house_broker:StoryService"
    words = ("tool-service", target, "--url", url, "--no-announce", "--log-level", "ERROR")
    process = await asyncio.create_subprocess_exec(
        *children.command("vixio", *words),
        env=children.environment(),
        stdin=asyncio.subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        if process.returncode is None:
            process.terminate()  # no call is at work: it ends at once
        await process.wait()


@asynccontextmanager
async def _in_this_process() -> AsyncIterator[str]:
    url, stop = "memory://demo", asyncio.Event()
    service = asyncio.create_task(run_service(StoryService(), connect(url), announce="", stop=stop))
    try:
        yield url
    finally:
        stop.set()
        await asyncio.wait((service,))
