"""The device as an MCP server (main/mcp_server.cc)."""
