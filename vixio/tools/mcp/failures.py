"""Explains why an MCP server cannot be reached. Importing this module imports the SDK."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

import httpx2
from mcp import MCPError
from mcp.types import CONNECTION_CLOSED, REQUEST_TIMEOUT
from pydantic import ValidationError

from vixio.core.environment_proxy import proxy_for
from vixio.core.errors import ToolError
from vixio.tools.home_assistant.home import likely
from vixio.tools.mcp.config import McpServerConfig, missing_program
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
            reason = _missing(error, config)
        case PermissionError():
            reason = (
                f"the program {config.command} may not be run: chmod +x {config.command}, or name "
                "its interpreter as command and the file in args"
            )
        case TimeoutError() | httpx2.TimeoutException():
            reason = f"{no_answer}{_way(config)}"
        case MCPError():
            reason = _explain(error, config, connection, no_answer)
        case httpx2.HTTPStatusError():
            reason = _http_error(error.response.status_code, error.response.reason_phrase, config)
        case httpx2.TransportError():
            # The library's words may contain the URL, which may contain a secret; the host is none.
            reason = f"nothing answers at {_host(config.url)}"
            reason += _way(config) or ": does the server run there?"
        case ToolError():
            reason = one_line(str(error))
        case ValidationError():
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            reason = one_line(f"its answer is malformed: {place}: {first['msg']}")
        case OSError():
            reason = error.strerror or reason
    return reason


def _missing(error: FileNotFoundError, config: McpServerConfig) -> str:
    if config.cwd and error.filename == config.cwd:
        return f"there is no folder {config.cwd} (cwd)"
    return missing_program(config.command, config.cwd)


def _way(config: McpServerConfig) -> str:
    """Return the proxy and what to do about it; empty without one."""
    proxy = proxy_for(config.url) if config.url else None
    return f" through {proxy} ({proxy.hint})" if proxy is not None else ""


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


def _explain(
    error: MCPError, config: McpServerConfig, connection: McpConnection, no_answer: str
) -> str:
    if connection.http_error is not None:
        return _http_error(*connection.http_error, config)
    if error.code not in (CONNECTION_CLOSED, REQUEST_TIMEOUT):
        return one_line(error.message)
    ended = f"{config.command} ended" if config.transport == "stdio" else "the connection ended"
    if error.code == REQUEST_TIMEOUT:
        ended = no_answer
    wrote = f"; it wrote: {connection.stderr.last}" if connection.stderr.last else ""
    return f"{ended}{wrote}"


_REMEDY = (
    "in Home Assistant, create a long-lived access token (your profile → Security) and put it into "
    "the variable that the settings name"
)
_HOME: Mapping[int, str] = {
    HTTPStatus.UNAUTHORIZED: _REMEDY,
    HTTPStatus.FORBIDDEN: _REMEDY,
    HTTPStatus.NOT_FOUND: (
        "in Home Assistant, add the integration Model Context Protocol Server (Settings → Devices "
        "& services); older versions have the path /mcp_server/sse"
    ),
}
"""Status → what to do in Home Assistant."""


def _http_error(status: int, phrase: str, config: McpServerConfig) -> str:
    answered = f"{_host(config.url)} answered HTTP {status} {phrase}".rstrip() + _way(config)
    if likely(config.name, config.url) and (remedy := _HOME.get(status)):
        return f"{answered}: {remedy}"
    match status:
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
            return f'{answered}: set headers, such as {{Authorization: "Bearer ${{TOKEN}}"}}'
        case HTTPStatus.NOT_FOUND | HTTPStatus.METHOD_NOT_ALLOWED:
            return f"{answered}: is the path of the url right? It often is /mcp or /sse"
    return answered
