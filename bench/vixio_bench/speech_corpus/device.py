"""The device that the benchmark talks to: the firmware's common tools and some of its boards'."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vixio.cli.diagnostics.providers import COMMON_TOOLS
from vixio.core.tools.types import ToolDefinition
from vixio.testing.voices import Speaker

Expected = tuple[str, str | None, dict[str, Any]]
"""Intent (the part before the colon of an automatic one), end of the tool's alias, arguments."""


def tool(
    name: str,
    description: str,
    *,
    required: Sequence[str] | None = None,
    **properties: dict[str, Any],
) -> ToolDefinition:
    """Return a tool; ``required``: None: all of its arguments."""
    needed = list(properties if required is None else required)
    schema = {"type": "object", "properties": properties, "required": needed}
    return ToolDefinition(name, description, schema)


def integer(low: int, high: int) -> dict[str, Any]:
    """Return the schema of a whole number."""
    return {"type": "integer", "minimum": low, "maximum": high}


# Names and descriptions: main/mcp_server.cc and main/boards of the firmware, but for the aquarium
# and the fan, which stand for what only one device has.
TOOLS: tuple[ToolDefinition, ...] = (
    tool("get_time", "Return the local time."),
    tool("get_date", "Return today's date."),
    tool("end_conversation", "End the conversation."),
    tool("remember_fact", "Remember a fact about the user.", fact={"type": "string"}),
    tool("recall_facts", "Get everything that is remembered about the user."),
    tool("forget_fact", "Forget what is remembered.", about={"type": "string"}),
    tool("forget_everything", "Forget everything that is remembered about the user."),
    *COMMON_TOOLS,
    tool("self.camera.take_photo", "Take a photo and explain it.", question={"type": "string"}),
    tool("self.led_strip.get_brightness", "Get the brightness of the led strip (0-8)"),
    tool(
        "self.led_strip.set_brightness",
        "Set the brightness of the led strip (0-8)",
        level=integer(0, 8),
    ),
    tool(
        "self.light.set_rgb",
        "Set the color of the light",
        r=integer(0, 255),
        g=integer(0, 255),
        b=integer(0, 255),
    ),
    tool("self.chassis.go_forward", "前进"),
    tool("self.chassis.go_back", "后退"),
    tool("self.chassis.turn_left", "向左转"),
    tool("self.chassis.turn_right", "向右转"),
    tool("self.chassis.dance", "跳舞"),
    tool("self.aquarium.feed", "Feed the fish"),
    tool("self.fan.set_power", "Turn the fan on or off", on={"type": "boolean"}),
    tool(
        "self.fan.set_mode",
        "Set the mode of the fan",
        mode={"type": "string", "enum": ["eco", "normal", "turbo"]},
    ),
)


@dataclass(frozen=True, slots=True)
class Corpus:
    """What is said, by whom, to a device with ``tools``. ``final``: ends or erases something;
    ``not_final``: sounds a little like it."""

    speakers: tuple[Speaker, ...]
    commands: tuple[tuple[str, Expected], ...]
    free: tuple[str, ...]
    tools: tuple[ToolDefinition, ...] = TOOLS
    final: tuple[tuple[str, Expected], ...] = ()
    not_final: tuple[str, ...] = ()
