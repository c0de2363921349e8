"""Tools with a state: one shopping list for each conversation, closed with it."""

from __future__ import annotations

from vixio.tools import ToolContext, tool, toolbox


@toolbox
class ShoppingList:
    """Made at the first call of one of its tools, for one device's session."""

    def __init__(self, context: ToolContext) -> None:
        self._device = context.device_id
        self._items: list[str] = []

    @tool
    async def add_to_list(self, item: str, amount: int = 1) -> str:
        """Put something on the shopping list.

        Args:
            item: What to buy.
            amount: How many.
        """
        self._items.append(f"{amount} {item}")
        return f"{len(self._items)} things are on the list"

    @tool
    async def read_list(self) -> list[str]:
        """Read the shopping list."""
        return self._items

    @tool(confirm=True)
    async def clear_list(self) -> str:
        """Throw the shopping list away."""
        self._items.clear()
        return "the list is empty"

    async def close(self) -> None:
        """Called when the session ends: save or release what is held."""
        self._items.clear()
