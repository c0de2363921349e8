"""A house with tools of every kind: device, Python, MCP server, HTTP service, broker, A2A agent.

One of them fails, one needs the user's yes, and two answer with a stream that is spoken as it
comes. That each was used is asked of the far side: what the device carried out, what the MCP server
wrote down, which requests the HTTP service saw, whether the story went on once it was heard. While
the device speaks the agent's answer, an A2A client with tools of its own uses the server as well.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from examples.demos import client_tools, house_agent, house_broker, house_local
from examples.demos.client_tools import OvenClient
from examples.demos.house_agent import Cook, cooking
from examples.demos.house_rest import House, standing
from vixio.cli.demo.conversation import PATIENCE, Line, device_config, hold, running, tool_names
from vixio.core.tasks import cancel_and_wait
from vixio.server import Server
from vixio.settings import Settings

if TYPE_CHECKING:
    from firmware_test_client import SimulatedDevice

EXPECTED_TOOLS = {
    "self.lamp.turn_on",
    "feed_cat",
    "unlock_door",
    "water_plants",
    "get_weather",
    "open_garage",
    "read_story",
    house_agent.SKILL,
}

DURING_S = 300.0
"""Seconds that a conversation takes at most."""


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around the server.

    ``broker``, ``agent``: their URLs. ``folder``: for what is written down. ``client``: None
    without the A2A library. ``skipped``: what of this is not there.
    """

    house: House
    broker: str
    agent: str
    folder: Path
    cook: Cook
    client: OvenClient | None
    skipped: tuple[str, ...] = ()

    @property
    def record(self) -> Path:
        """What the MCP server writes down."""
        return self.folder / "garden.txt"

    @property
    def heard(self) -> Path:
        """Exists once the beginning of the story was heard."""
        return self.folder / "heard"


def settings(around: Around) -> Settings:
    """Return the settings of the house: the default set, sources of tools, and the A2A gateway."""
    url = f"http://127.0.0.1:{around.house.server_port}"
    client = around.client
    return Settings.model_validate(
        {
            "server": {"host": "127.0.0.1", "port": 0, "http_port": 0},
            "memory": {"store": "none"},
            "data": {"database": "none"},
            "assistant": {"filler_after": 0},  # what is said does not depend on the machine
            "timeouts": PATIENCE,
            "a2a": {"tokens": {"oven": client.token}} if client is not None else None,
            "mcp_servers": {
                "garden": {
                    "command": sys.executable,
                    "args": ["-m", "examples.demos.house_mcp", str(around.record)],
                    "env": {"PYTHONPATH": _path()},
                }
            },
            "tools": {
                "modules": ["examples.demos.house_local"],
                "broker": house_broker.section(around.broker, around.heard),
                "a2a": [
                    {
                        "name": "cook",
                        "url": around.agent,
                        "allow_private": True,
                        "timeout": 2 * house_agent.LISTENING_S,
                        "later": False,
                    }
                ],
                "rest": [
                    {
                        "name": "get_weather",
                        "description": "Tell the weather outside",
                        "url": f"{url}/station",
                        "result": "now.text",
                        "allow_private": True,
                    },
                    {
                        "name": "open_garage",
                        "description": "Open the garage",
                        "method": "POST",
                        "url": f"{url}/garage",
                        "allow_private": True,
                    },
                ],
            },
        }
    )


def _path() -> str:
    """Return where the child finds this very Vixio: it inherits nothing of our environment."""
    return str(Path(__file__).resolve().parents[2])


def script(around: Around) -> list[Line]:
    """Return the conversation."""
    house, record = around.house, around.record

    def watered() -> bool:
        return record.exists() and record.read_text(encoding="utf-8") == "water_plants\n"

    return [
        Line(
            "turn on the lamp",
            lambda reply, device: (
                [call.name for call in device.mcp.calls][-1:] == ["self.lamp.turn_on"]
            ),
            "the device's lamp is switched on",
            "device",
        ),
        Line(
            "feed the cat",
            lambda reply, device: [device.config.device_id] == house_local.FED,
            "the Python function has run, for this device",
            "local",
        ),
        Line(
            "water the plants",
            lambda reply, device: watered(),
            "the MCP server has written down that it did it",
            "garden",
        ),
        Line(
            "what is the weather",
            lambda reply, device: house.seen == ["GET /station"] and "cold" in reply.text,
            "the HTTP service was asked, and what was picked from its answer is spoken",
            "rest",
        ),
        Line(
            "tell me the story",
            lambda reply, device: (
                reply.text == "".join(house_broker.BEGINNING + house_broker.END)
                and around.heard.exists()
            ),
            "the service's stream is spoken as it comes: it ends only once its beginning is heard",
            "broker",
        ),
        Line(
            "tell me the recipe",
            lambda reply, device: (
                reply.text == "".join(house_agent.BEGINNING + house_agent.END)
                and around.cook.asked == [reply.stt]
            ),
            "the agent is asked in the user's words, and its stream is spoken as it comes",
            "cook",
        ),
        Line(
            "open the garage",
            lambda reply, device: house.seen[1:] == ["POST /garage"] and "not work" in reply.text,
            "the service fails, is not asked twice, and the user hears of it",
            "rest",
            fails=True,
        ),
        Line(
            "unlock the door",
            lambda reply, device: not house_local.OPENED and "Shall I" in reply.text,
            "nothing is done before the user's yes; the assistant asks",
        ),
        Line(
            "yes please",
            lambda reply, device: [device.config.device_id] == house_local.OPENED,
            "now the door is unlocked",
            "local",
        ),
    ]


@asynccontextmanager
async def listening(app: Server, device: SimulatedDevice, around: Around) -> AsyncIterator[None]:
    """Let storyteller and cook know when the device plays what they begin with.

    Meanwhile, between the beginning of the recipe and its end, the A2A client converses.
    """

    async def heard(beginning: str) -> None:
        await device.wait_for(
            lambda: any(
                reply.first_played is not None and reply.text.startswith(beginning.strip())
                for reply in device.replies
            ),
            what=f"the beginning: {beginning}",
            timeout=DURING_S,
        )

    async def note_story() -> None:
        await heard(house_broker.BEGINNING[0])
        await asyncio.to_thread(around.heard.touch)

    async def note_recipe() -> None:
        await heard(house_agent.BEGINNING[0])
        try:
            if around.client is not None:
                assert app.http is not None  # noqa: S101 - start() sets it
                url = f"http://127.0.0.1:{app.http.port}/a2a"
                await around.client.converse(url, lambda: not device.replies[-1].ended)
        finally:
            around.cook.heard.set()

    tasks = [asyncio.create_task(note()) for note in (note_story, note_recipe)]
    try:
        yield
    finally:
        await cancel_and_wait(*tasks)


def oven_client() -> OvenClient | None:
    """Return the A2A client; without the A2A library, say so and return None."""
    what = client_tools.lacking()
    if what:
        print(f"{what}; no A2A client uses the server")
        return None
    return OvenClient(secrets.token_hex(32))


async def converse(wav: Path | None) -> int:
    """Hold the conversation and print it; return the exit status."""
    house_local.FED.clear()
    house_local.OPENED.clear()
    cook, client = Cook(), oven_client()
    with tempfile.TemporaryDirectory() as folder, standing() as house:
        async with house_broker.telling() as broker, cooking(cook) as agent:
            skipped = [] if client else ["an A2A client"]
            if broker.startswith("memory:"):
                skipped.append("NATS")
            around = Around(house, broker, agent, Path(folder), cook, client, tuple(skipped))
            return 1 if await _hold(around, wav) else 0


async def _hold(around: Around, wav: Path | None) -> int:
    """Hold the conversations; return how many turns were not as expected."""
    from firmware_test_client import SimulatedDevice, Tool

    async with (
        running(settings(around)) as app,
        SimulatedDevice(device_config(app)) as device,
        listening(app, device, around),
    ):
        device.add_tool(Tool("self.lamp.turn_on", "Turn on the lamp", (), lambda: True))
        await device.wait_for(
            lambda: set(tool_names(app)) >= EXPECTED_TOOLS,
            what="the server to know all tools",
            timeout=60,
        )
        if app.a2a is not None:
            await app.a2a.loaded()
        failed = await hold(app, device, script(around), wav, skipped=around.skipped)
    return failed + (around.client.show() if around.client is not None else 0)
