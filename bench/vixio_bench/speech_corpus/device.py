"""The device that the benchmark talks to: the firmware's common tools and some of its boards'."""

from __future__ import annotations

from typing import Any

from vixio.cli.diagnostics.providers import COMMON_TOOLS
from vixio.core.tools.types import ToolDefinition

Expected = tuple[str, str | None, dict[str, Any]]
"""Intent (the part before the colon of an automatic one), end of the tool's alias, arguments."""


def _tool(name: str, description: str, **properties: dict[str, Any]) -> ToolDefinition:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return ToolDefinition(name, description, schema)


def _integer(low: int, high: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": low, "maximum": high}


# Names and descriptions: main/mcp_server.cc and main/boards of the firmware, but for the aquarium
# and the fan, which stand for what only one device has.
TOOLS: tuple[ToolDefinition, ...] = (
    _tool("get_time", "Return the local time."),
    _tool("get_date", "Return today's date."),
    _tool("end_conversation", "End the conversation."),
    _tool("remember_fact", "Remember a fact about the user.", fact={"type": "string"}),
    _tool("recall_facts", "Get everything that is remembered about the user."),
    _tool("forget_fact", "Forget what is remembered.", about={"type": "string"}),
    _tool("forget_everything", "Forget everything that is remembered about the user."),
    *COMMON_TOOLS,
    _tool("self.camera.take_photo", "Take a photo and explain it.", question={"type": "string"}),
    _tool("self.led_strip.get_brightness", "Get the brightness of the led strip (0-8)"),
    _tool(
        "self.led_strip.set_brightness",
        "Set the brightness of the led strip (0-8)",
        level=_integer(0, 8),
    ),
    _tool(
        "self.light.set_rgb",
        "Set the color of the light",
        r=_integer(0, 255),
        g=_integer(0, 255),
        b=_integer(0, 255),
    ),
    _tool("self.chassis.go_forward", "前进"),
    _tool("self.chassis.go_back", "后退"),
    _tool("self.chassis.turn_left", "向左转"),
    _tool("self.chassis.turn_right", "向右转"),
    _tool("self.chassis.dance", "跳舞"),
    _tool("self.aquarium.feed", "Feed the fish"),
    _tool("self.fan.set_power", "Turn the fan on or off", on={"type": "boolean"}),
    _tool(
        "self.fan.set_mode",
        "Set the mode of the fan",
        mode={"type": "string", "enum": ["eco", "normal", "turbo"]},
    ),
)
