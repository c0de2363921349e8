"""Tools as an agent framework passes them."""

from __future__ import annotations

from typing import Any

from vixio.core.tools.names import safe_tool_name
from vixio.language.phrasebook import ToolSignature


def integer(low: int, high: int, **more: object) -> dict[str, Any]:
    return {"type": "integer", "minimum": low, "maximum": high, **more}


def tool(name: str, description: str = "", **properties: dict[str, Any]) -> ToolSignature:
    schema = {"type": "object", "properties": properties}
    return ToolSignature(safe_tool_name(name), description, schema)


VOLUME = tool("self.audio_speaker.set_volume", "Set the volume.", volume=integer(0, 100))
STATUS = tool("self.get_device_status", "Provides the real-time information of the device.")
BRIGHTNESS = tool("self.screen.set_brightness", "Brightness.", brightness=integer(0, 100))
THEME = tool("self.screen.set_theme", "Set the theme.", theme={"type": "string"})
PHOTO = tool("self.camera.take_photo", "Take a photo.", question={"type": "string"})
COMMON = (tool("get_time"), tool("get_date"), STATUS, VOLUME, BRIGHTNESS, THEME, PHOTO)

LAMP = (
    tool("self.lamp.get_state", "Get the power state of the lamp"),
    tool("self.lamp.turn_on", "Turn on the lamp"),
    tool("self.lamp.turn_off", "Turn off the lamp"),
)
BOARD = (
    *LAMP,
    tool("self.led_strip.set_brightness", "Set the brightness (0-8)", level=integer(0, 8)),
    tool("self.led_strip.get_brightness", "Get the brightness of the led strip (0-8)"),
    tool(
        "self.light.set_rgb", "设置RGB颜色", r=integer(0, 255), g=integer(0, 255), b=integer(0, 255)
    ),
    tool("self.chassis.go_forward", "前进"),
    tool("self.chassis.dance", "跳舞"),
    tool(
        "self.dog.walk",
        "行走。",
        steps=integer(1, 100, default=4),
        speed=integer(500, 2000, default=1000),
    ),
    tool("self.fan.set_power", "", on={"type": "boolean"}),
    tool("self.fan.set_mode", "", mode={"type": "string", "enum": ["eco", "turbo", "night_mode"]}),
    tool("self.aquarium.feed", "Feed the fish"),
)
