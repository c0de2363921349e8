"""An MCP server with two tools, and the settings that give them to Vixio.

Vixio starts it as a child process and speaks MCP over its standard input and output::

    mcp_servers:
      shopping:
        command: python
        args: [examples/mcp_tools.py]

The same shape that desktop clients use, so any server made for them works as it is.
"""

from __future__ import annotations

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("shopping")
_wanted: list[str] = []


@server.tool()
def add_to_shopping_list(item: str) -> str:
    """Put something on the shopping list.

    Args:
        item: What to buy, with its amount.
    """
    _wanted.append(item)
    return f"{item} is on the list, which now has {len(_wanted)} entries"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def read_shopping_list() -> str:
    """Tell what is on the shopping list."""
    return ", ".join(_wanted) or "nothing"


if __name__ == "__main__":
    server.run()
