"""Where a server's process stands among those that serve the same ports."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from vixio.core.neighbours import Neighbours

Health = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """The default: it is alone."""

    neighbours: Neighbours = field(default_factory=Neighbours)
    secret: str = ""
    """Signs what another process has to recognise, as the tokens of cameras; empty: made anew."""
    share_ports: bool = False
    """Let the other processes listen on the same ports."""
    whole_health: Callable[[], Awaitable[Health]] | None = None
    """Returns what the health page shows of all processes; None: this one's is the whole."""


@dataclass(frozen=True, slots=True)
class About:
    """What there is to say of a server that listens. ``host``: as its settings have it."""

    host: str
    port: int
    http_port: int
    providers: dict[str, str]
    language: str
    tokens: bool
    workers: int = 1
