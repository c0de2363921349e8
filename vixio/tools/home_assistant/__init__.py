"""What the phrase book needs to control a Home Assistant that is an MCP server (``mcp_servers``).

``entities`` reads names, rooms and states from ``GetLiveContext``; ``definitions`` makes tools for
the phrase book of them; ``home`` runs these by calls of Home Assistant's own tools, and says which
calls need the user's yes. A language model uses Home Assistant's tools directly.
"""
