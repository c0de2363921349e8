"""A house whose tools come from everywhere: device, Python, an MCP server, an HTTP service.

One of them fails, and one needs the user's yes. That each was used is asked of the far side: what
the device carried out, what the MCP server wrote down, which requests the HTTP service saw.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from vixio.demo import house_local
from vixio.demo.conversation import Line, device_config, hold, running, tool_names
from vixio.demo.house_rest import House, standing
from vixio.settings import Settings

EXPECTED_TOOLS = {
    "self.lamp.turn_on",
    "feed_cat",
    "unlock_door",
    "water_plants",
    "get_weather",
    "open_garage",
}


def settings(house: House, record: Path) -> Settings:
    """Return the settings of the house: the default set and three sources of tools."""
    url = f"http://127.0.0.1:{house.server_port}"
    return Settings.model_validate(
        {
            "server": {"host": "127.0.0.1", "port": 0, "http_port": 0},
            "memory": {"store": "none"},
            "mcp_servers": {
                "garden": {
                    "command": sys.executable,
                    "args": ["-m", "vixio.demo.house_mcp", str(record)],
                    "env": {"PYTHONPATH": _path()},
                }
            },
            "tools": {
                "modules": ["vixio.demo.house_local"],
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


def script(house: House, record: Path) -> list[Line]:
    """Return the conversation."""

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
            "open the garage",
            lambda reply, device: house.seen[1:] == ["POST /garage"] and "not work" in reply.text,
            "the service fails, is not asked twice, and the user hears of it",
            "rest",
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


async def converse(wav: Path | None) -> int:
    """Hold the conversation and print it; return the exit status."""
    from firmware_test_client import SimulatedDevice, Tool

    house_local.FED.clear()
    house_local.OPENED.clear()
    with tempfile.TemporaryDirectory() as folder, standing() as house:
        record = Path(folder) / "garden.txt"
        async with (
            running(settings(house, record)) as app,
            SimulatedDevice(device_config(app)) as device,
        ):
            device.add_tool(Tool("self.lamp.turn_on", "Turn on the lamp", (), lambda: True))
            await device.wait_for(
                lambda: set(tool_names(app)) >= EXPECTED_TOOLS,
                what="the server to know all tools",
                timeout=60,
            )
            return 1 if await hold(app, device, script(house, record), wav) else 0
