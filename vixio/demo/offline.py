"""The default set with nothing around it: no key, no network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from vixio.demo.conversation import Line, device_config, hold, running, tool_names
from vixio.settings import AssistantSettings, DataSection, MemorySection, ServerSettings, Settings

if TYPE_CHECKING:
    from firmware_test_client import SimulatedDevice

LOUDER = 30
"""The volume that the conversation asks for; the device starts at another one."""


def script() -> list[Line]:
    """Return the conversation."""
    return [
        Line("hello", lambda reply, device: reply.stt != "", "a greeting"),
        Line(
            "what time is it",
            lambda reply, device: bool(re.search(r"\d", reply.text)),
            "the time of day",
        ),
        Line(
            "set the volume to thirty percent",
            lambda reply, device: device.volume == LOUDER,
            f"the device's volume becomes {LOUDER}",
        ),
        Line(
            "what is the volume",
            lambda reply, device: bool(re.search(r"30|thirty", reply.text)),
            "the volume that was set",
        ),
        Line(
            "turn on the lamp",
            lambda reply, device: _called(device, "self.lamp.turn_on"),
            "the lamp, which only this device has, is switched on",
        ),
        Line(
            "my grandmother bakes wonderful apple pies on sunday",
            lambda reply, device: not reply.tool_calls and "understand" in reply.text,
            "declined, since nothing like it is known; no tool is called",
        ),
        Line("thank you goodbye", lambda reply, device: not reply.tool_calls, "a farewell"),
    ]


def _called(device: SimulatedDevice, tool: str) -> bool:
    return any(call.name == tool for call in device.mcp.calls)


async def converse(wav: Path | None) -> int:
    """Hold the conversation and print it; return the exit status."""
    from firmware_test_client import SimulatedDevice, Tool

    settings = Settings(
        server=ServerSettings(host="127.0.0.1", port=0, http_port=0),
        memory=MemorySection(store="none"),
        data=DataSection.model_validate({"database": "none"}),
        assistant=AssistantSettings(filler_after=0),  # what is said does not depend on the machine
    )
    async with running(settings) as app, SimulatedDevice(device_config(app)) as device:
        device.add_tool(Tool("self.lamp.turn_on", "Turn on the lamp", (), lambda: True))
        await device.wait_for(
            lambda: "self.lamp.turn_on" in tool_names(app), what="the server to know the lamp"
        )
        return 1 if await hold(app, device, script(), wav) else 0
