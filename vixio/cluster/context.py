"""A server process's part in a cluster, and what a listening server says about itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from vixio.core.cluster import Cluster

Health = dict[str, Any]


@dataclass(frozen=True)
class ClusterContext:
    """A server's part in a cluster; the default is a single process."""

    cluster: Cluster = field(default_factory=Cluster)
    secret: str = ""
    """Signs tokens that every process has to accept, as those of cameras; empty: a random one."""
    share_ports: bool = False
    """Whether other processes listen on the same ports."""
    cluster_health: Callable[[], Awaitable[Health]] | None = None
    """Returns the health of all processes together; None: of this process alone."""


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """Facts of a listening server for its banner. ``host``: as in its settings."""

    host: str
    port: int
    http_port: int
    providers: dict[str, str]
    language: str
    tokens: bool
    workers: int = 1
