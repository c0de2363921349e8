"""How to reach an MCP server, and which of its tools to use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
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
    ``allow_private``: whether the address may be of this machine or a private network.
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
    allow_private: bool = True


_FROM: Final[Mapping[str, str]] = MappingProxyType(
    {
        "npx": "Node.js (https://nodejs.org)",
        "npm": "Node.js (https://nodejs.org)",
        "node": "Node.js (https://nodejs.org)",
        "uvx": "uv (pip install uv)",
        "uv": "uv (pip install uv)",
        "python": "Python: write python3, or the path of an environment's python",
        "python3": "Python (https://www.python.org)",
        "pipx": "pipx (https://pipx.pypa.io)",
        "docker": "Docker (https://docs.docker.com/engine/install)",
        "podman": "Podman (https://podman.io)",
        "deno": "Deno (https://deno.com)",
        "bun": "Bun (https://bun.sh)",
        "bunx": "Bun (https://bun.sh)",
        "go": "Go (https://go.dev)",
        "java": "a Java runtime (https://adoptium.net)",
        "dotnet": ".NET (https://dotnet.microsoft.com)",
    }
)
"""Programs that descriptions of MCP servers name, and what brings them."""


def missing_program(program: str, cwd: str = "") -> str:
    """Return one line that says why a program cannot be started, and what to do."""
    if program in _FROM:
        return f"the program {program} is not installed: it comes with {_FROM[program]}"
    first, _, rest = program.partition(" ")
    if rest:
        args = ", ".join(f'"{each}"' for each in rest.split())
        return f"there is no program {program!r}: write command: {first} and args: [{args}]"
    if "/" in program:
        return f"there is no file {program}, seen from the folder {cwd or Path.cwd()}"
    return f"the program {program} is not installed, or not on the PATH of this server"
