"""Tools in plain Python: put this file into the folder that ``tools.folder`` names.

Or name the module in the settings::

    tools:
      modules: [my_package.local_tools]
"""

from __future__ import annotations

import asyncio
import random

from vixio.tools import ToolContext, ToolError, tool

_STATIONS = {"berlin": "radio eins", "beijing": "CNR", "london": "Radio 4"}


@tool
def roll_dice(sides: int = 6) -> int:
    """Roll a die.

    Args:
        sides: How many sides it has.
    """
    if sides < 2:
        raise ToolError("invalid_arguments", "a die has at least two sides", retryable=True)
    return random.randint(1, sides)  # noqa: S311 - a game


@tool(timeout=20, idempotent=True, retries=2)
async def find_station(city: str, context: ToolContext) -> str:
    """Find a radio station of a city.

    Args:
        city: The city, in English.
    """
    context.say(f"I am looking for stations in {city}.")
    context.show(city)
    await asyncio.sleep(0.1)  # whatever takes its time
    try:
        return _STATIONS[city.lower()]
    except KeyError:
        raise ToolError("not_found", f"there is no station for {city}") from None


@tool(confirm=True)
async def order_pizza(kind: str, context: ToolContext) -> str:
    """Order a pizza to the house. Runs only after the user has said yes.

    Args:
        kind: Which one, as on the menu.
    """
    return f"one {kind} is on its way, ordered by {context.device_id}"
