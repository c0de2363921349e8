"""The tools of the agent: timers, reminders, alarms, messages to other devices, announcements.

Each answers with data for a model, and with ``spoken``: the words for a voice, in the language of
the device's voice, which the phrase book says as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.source import FixedSource
from vixio.core.tools.types import ToolDefinition, ToolOptions
from vixio.data.reminders.asked import MAX_SECONDS
from vixio.data.reminders.names import Listeners
from vixio.data.reminders.own_tools import OwnTools
from vixio.data.reminders.room_tools import RoomTools
from vixio.data.reminders.service import ReminderService

SOURCE: Final = "reminders"


def reminder_source(service: ReminderService, listeners: Listeners) -> FixedSource:
    """Return the tools."""
    own, rooms = OwnTools(service, listeners), RoomTools(service, listeners)
    reads = ToolOptions(timeout=10.0, idempotent=True, read_only=True)
    writes = ToolOptions(timeout=10.0)
    described: list[tuple[Callable[..., Any], ToolOptions]] = [
        (own.set_timer, writes),
        (own.set_reminder, writes),
        (own.set_alarm, writes),
        (own.list_timers, reads),
        (own.cancel_timer, writes),
        (rooms.tell_device, writes),
        (rooms.announce, writes),
    ]
    tools = [func_to_tool_definition(function, SOURCE, options) for function, options in described]
    return FixedSource(SOURCE, [_bounded(tool) for tool in tools])


def _bounded(tool: ToolDefinition) -> ToolDefinition:
    """Return the tool with the bounds of its numbers, which a signature cannot hold."""
    bounds = {
        "hours": (0, 168),
        "minutes": (0, 10_080),
        "seconds": (0, MAX_SECONDS),
        "hour": (0, 23),
        "minute": (0, 59),
    }
    properties = {
        name: {**schema, "minimum": bounds[name][0], "maximum": bounds[name][1]}
        if name in bounds
        else schema
        for name, schema in tool.parameters["properties"].items()
    }
    # Without the key, whatever has no default counts as required (the firmware's rule).
    parameters = {"required": [], **tool.parameters, "properties": properties}
    return replace(tool, parameters=parameters)
