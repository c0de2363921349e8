"""What is known of an MCP server before it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Transport = Literal["stdio", "sse", "streamable_http"]

Confirm = Literal["destructive", "always", "never"]


@dataclass(frozen=True, slots=True)
class Pauses:
    """Seconds between attempts to connect: the first, doubled each time up to the longest.

    Each is shortened by up to a half at random, so that many clients do not come back at once. A
    connection that lasted ``steady`` begins again with the first.
    """

    first: float = 0.5
    longest: float = 60.0
    steady: float = 30.0


@dataclass(frozen=True, slots=True)
class McpServerConfig:
    """How to reach a server and what of it to use. Secrets stand in ``env``, ``headers``, ``url``.

    ``name``: of the source, in patterns, counters and in front of colliding names.
    ``allow``, ``deny``: patterns of tool names, with the wildcards of file names.
    ``connect_timeout``: seconds for the start, the greeting and each listing. ``timeout``: for one
    call. ``refresh``: seconds between listings while the server says nothing, 0 for none; they
    notice a server that hangs, and changes that it does not report. ``confirm``: tools that need
    the user's yes; ``destructive`` are those whose annotations say so. ``retries``: of tools whose
    annotations say that they only read, or that twice is once.
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
    pauses: Pauses = Pauses()
