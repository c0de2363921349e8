"""The MCP access point: tool servers of users connect to it by WebSocket."""
