"""What the speech benchmark says, with which voices, to a device with which tools.

``tuning`` is for choosing thresholds, ``held-out`` for stating figures: they share no sentence, no
voice and no speed. ``values-tuning`` and ``values`` have commands with numbers, times and names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from vixio.cli.diagnostics.providers import COMMON_TOOLS
from vixio.core.tools.types import ToolDefinition
from vixio.testing.voices import Speaker

Expected = tuple[str, str | None, dict[str, Any]]
"""Intent (the part before the colon of an automatic one), end of the tool's alias, arguments."""


def _tool(
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


def _integer(low: int, high: int) -> dict[str, Any]:
    """Return the schema of a whole number."""
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


_LENGTH = {name: _integer(0, 1_000) for name in ("hours", "minutes", "seconds")}

VALUE_TOOLS: tuple[ToolDefinition, ...] = (
    *TOOLS,
    _tool("set_timer", "Set a timer.", required=(), **_LENGTH),
    _tool("set_reminder", "Remind the user.", required=(), **_LENGTH, text={"type": "string"}),
    _tool(
        "set_alarm",
        "Set an alarm.",
        required=("hour",),
        hour=_integer(0, 23),
        minute=_integer(0, 59),
        half={"type": "string", "enum": ["am", "pm"]},
        day={"type": "string", "enum": ["today", "tomorrow"]},
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


@cache
def load_corpus(name: str) -> Corpus:
    """Return a corpus by the name of its file here."""
    data = yaml.safe_load((Path(__file__).parent / f"{name}.yaml").read_text("utf-8"))
    commands, final = (
        tuple(
            (text, (intent, tool, arguments)) for text, (intent, tool, arguments) in found.items()
        )
        for found in (data.get("commands", {}), data.get("final", {}))
    )
    return Corpus(
        tuple(Speaker(*each) for each in data.get("speakers", ())),
        commands,
        tuple(data["free"]),
        VALUE_TOOLS if name.startswith("values") or name == "chinese" else TOOLS,
        final,
        tuple(data.get("not_final", ())),
    )


CORPORA = ("held-out", "tuning", "values", "values-tuning")
