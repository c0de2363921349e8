"""The demo's local tools: plain Python, in the server's process."""

from __future__ import annotations

from vixio.tools import ToolContext, tool

FED: list[str] = []
"""By which devices the cat was fed."""

OPENED: list[str] = []
"""By which devices the door was opened."""


@tool
def feed_cat(context: ToolContext) -> str:
    """Feed the cat."""
    FED.append(context.device_id)
    return "The cat has got her dinner."


@tool(confirm=True)
def unlock_door(context: ToolContext) -> str:
    """Unlock the door."""
    OPENED.append(context.device_id)
    return "The door is open."
