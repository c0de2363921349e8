"""A server process's part in a cluster, and what a listening server says about itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from vixio.core.cluster import Cluster
from vixio.core.local_cluster import LocalCluster


@dataclass(frozen=True, slots=True)
class ClusterContext:
    """A server's part in a cluster; the default is a single process."""

    cluster: Cluster = field(default_factory=LocalCluster)
    secret: str = ""
    """Signs tokens that every process has to accept, as those of cameras; empty: a random one."""
    share_ports: bool = False
    """Whether other processes listen on the same ports."""
    worker: int = 0
    """Its number among them, from 1 on; 0: there are none."""
    balanced: Callable[[], str] = lambda: ""
    """Returns the WebSocket to which OTA sends the next device; empty: that of this server."""


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """Facts of a listening server for its banner. ``host``: as in its settings."""

    host: str
    port: int
    http_port: int
    providers: dict[str, str]
    language: str
    tokens: bool
    access: str = "open"
    """Which devices may use it; ``server.access`` of the settings."""
    workers: int = 1
    public_url: str = ""
    console: bool = True
    """Whether the web console is served."""
    mqtt_port: int = 0
    """Where devices come over MQTT; 0: nowhere."""
    a2a_without_token: bool = False
    """Whether programs of this machine use the A2A agent without a token."""
