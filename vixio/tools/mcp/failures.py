"""Explains why an MCP server cannot be reached. Importing this module imports the SDK."""

from __future__ import annotations

import httpx2
from mcp import MCPError
from mcp.types import CONNECTION_CLOSED, REQUEST_TIMEOUT

from vixio.core.errors import ToolError
from vixio.tools.mcp.config import McpServerConfig
from vixio.tools.mcp.connection import McpConnection, one_line


def explain_failure(
    error: BaseException, config: McpServerConfig, connection: McpConnection
) -> str:
    """Return one line, without secrets, that says why a server cannot be reached."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    no_answer = f"no answer within {config.connect_timeout:g} s"
    reason = type(error).__name__
    match error:
        case FileNotFoundError():
            missing = error.filename if error.filename == config.cwd else config.command
            reason = f"{missing} does not exist"
        case PermissionError():
            reason = f"{config.command} is not executable"
        case TimeoutError() | httpx2.TimeoutException():
            reason = no_answer
        case MCPError():
            reason = _explain(error, config, connection, no_answer)
        case httpx2.HTTPStatusError():
            reason = _http_error(error.response.status_code, error.response.reason_phrase)
        case httpx2.TransportError():
            reason = "it cannot be reached"  # the library's words may contain the URL
        case ToolError():
            reason = one_line(str(error))
        case OSError():
            reason = error.strerror or reason
    return reason


def _explain(
    error: MCPError, config: McpServerConfig, connection: McpConnection, no_answer: str
) -> str:
    if connection.http_error is not None:
        return _http_error(*connection.http_error)
    if error.code not in (CONNECTION_CLOSED, REQUEST_TIMEOUT):
        return one_line(error.message)
    ended = "it ended" if config.transport == "stdio" else "the connection ended"
    if error.code == REQUEST_TIMEOUT:
        ended = no_answer
    wrote = f"; it wrote: {connection.stderr.last}" if connection.stderr.last else ""
    return f"{ended}{wrote}"


def _http_error(status: int, phrase: str) -> str:
    return f"it answered HTTP {status} {phrase}".rstrip()
