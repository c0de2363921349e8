"""How to reach an MCP server, and which of its tools to use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from vixio.core.backoff import Backoff

Transport = Literal["stdio", "sse", "streamable_http", "websocket"]
"""The last one for servers that connect to this one, which gives their streams."""

Confirm = Literal["destructive", "always", "never"]


RECONNECT: Final = Backoff(first=0.5, longest=60.0)
"""Delays between attempts to connect."""

STEADY_SECONDS: Final = 30.0
"""After a connection that lasted so long the first delay applies again."""


@dataclass(frozen=True, slots=True)
class McpServerConfig:
    """One server. ``env``, ``headers`` and ``url`` may contain secrets.

    ``name``: of the source, in patterns, counters and in front of colliding names.
    ``allow``, ``deny``: patterns of tool names, with the wildcards of file names.
    ``connect_timeout``: seconds for start and handshake, and for each listing. ``timeout``: seconds
    for one call. ``refresh``: seconds between listings when the server reports no change, 0 for
    none; a listing detects a server that hangs and changes that it does not report. ``confirm``:
    tools that need the user's yes; ``destructive``: those annotated so. ``retries``: of tools
    annotated as read-only or idempotent. ``place``: the key path of the settings, for messages.
    """

    name: str
    transport: Transport
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str = ""
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    connect_timeout: float = 30.0
    timeout: float = 30.0
    refresh: float = 60.0
    confirm: Confirm = "destructive"
    retries: int = 1
    reconnect: Backoff = RECONNECT
    place: str = "mcp_servers"
