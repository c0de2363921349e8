"""The demo's MCP server, a process of its own: it waters the plants, and writes down that it did.

``python -m examples.demos.house_mcp RECORD``
"""

from __future__ import annotations

import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("garden")


@server.tool()
def water_plants() -> str:
    """Water the plants."""
    record = Path(sys.argv[1])
    with record.open("a", encoding="utf-8") as file:
        file.write("water_plants\n")
    return "The plants have got two liters of water."


if __name__ == "__main__":
    server.run()
