"""The default set with nothing around it: no key, no network."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vixio.cli.demo.conversation import (
    PATIENCE,
    Finding,
    Line,
    device_config,
    hold,
    running,
    tool_names,
)
from vixio.settings import (
    AssistantSettings,
    DataSection,
    MemorySection,
    ServerSettings,
    Settings,
    TimeoutSettings,
)

if TYPE_CHECKING:
    from firmware_test_client import Reply, SimulatedDevice

LOUDER = 30
"""The volume that the conversation asks for; the device starts at another one."""


FAREWELL = "thank you goodbye"
LEFT_S = 30.0
"""Within which the server ends the conversation behind its farewell; the machine may be busy."""
CLOCK_S = 150
"""What a spoken time may be off: it has no seconds, and is checked a while after it was said."""

_SPOKEN_TIME = re.compile(r"\b(\d{1,2}:\d{2} [AP]M)\b")


def script() -> list[Line]:
    """Return the conversation."""
    return [
        Line(
            "hello",
            lambda reply, device: reply.stt == "hello" and reply.text.startswith("Hello!"),
            "a greeting",
        ),
        Line(
            "what time is it",
            lambda reply, device: is_now(reply.text, datetime.now()),  # noqa: DTZ005 - as spoken
            "the time of day",
        ),
        Line(
            "set the volume to thirty percent",
            lambda reply, device: device.volume == LOUDER,
            f"the device's volume becomes {LOUDER}",
            "device",
        ),
        Line(
            "what is the volume",
            lambda reply, device: bool(re.search(r"30|thirty", reply.text)),
            "the volume that was set",
            "device",
        ),
        Line(
            "turn on the lamp",
            lambda reply, device: (
                [call.name for call in device.mcp.calls][-1:] == ["self.lamp.turn_on"]
            ),
            "the lamp, which only this device has, is switched on",
            "device",
        ),
        Line(
            "my grandmother bakes wonderful apple pies on sunday",
            lambda reply, device: not reply.tool_calls and "not understand" in reply.text,
            "declined, since nothing like it is known; no tool is called",
        ),
        Line(
            FAREWELL,
            lambda reply, device: reply.stt == FAREWELL and reply.text == "Goodbye!",
            "a farewell, and the end of the conversation",
        ),
    ]


def is_now(text: str, now: datetime) -> bool:
    """Whether the time of day that is spoken in a text is the right one."""
    spoken = _SPOKEN_TIME.search(text)
    if spoken is None:
        return False
    at = datetime.strptime(spoken[1], "%I:%M %p")  # noqa: DTZ007 - a time of day
    late = (now - now.replace(hour=at.hour, minute=at.minute, second=0)).total_seconds()
    day = 24 * 3600
    return min(late % day, -late % day) <= CLOCK_S


async def speak(device: SimulatedDevice, line: Line) -> tuple[Reply, Sequence[Finding]]:
    """Say a line; behind a farewell, wait for the end of the conversation."""
    from firmware_test_client import DeviceTimeout

    reply = await device.ask(line.say)
    if line.say != FAREWELL:
        return reply, ()
    try:
        await device.wait_for_close(timeout=LEFT_S)
    except DeviceTimeout:
        return reply, [Finding(False, "the server has not ended the conversation")]
    return reply, [Finding(True, "the server has ended the conversation")]


async def converse(wav: Path | None) -> int:
    """Hold the conversation and print it; return the exit status."""
    from firmware_test_client import SimulatedDevice, Tool

    settings = Settings(
        server=ServerSettings(host="127.0.0.1", port=0, http_port=0),
        memory=MemorySection(store="none"),
        data=DataSection.model_validate({"database": "none"}),
        assistant=AssistantSettings(filler_after=0),  # what is said does not depend on the machine
        timeouts=TimeoutSettings.model_validate(PATIENCE),
    )
    async with running(settings) as app, SimulatedDevice(device_config(app)) as device:
        device.add_tool(Tool("self.lamp.turn_on", "Turn on the lamp", (), lambda: True))
        await device.wait_for(
            lambda: "self.lamp.turn_on" in tool_names(app), what="the server to know the lamp"
        )
        return 1 if await hold(app, device, script(), wav, speak) else 0
