"""A server's part in a cluster, as the settings want it."""

from __future__ import annotations

import logging
import socket

from vixio.cluster.context import ClusterContext
from vixio.core.errors import PluginUnavailable
from vixio.core.extras import how_to_install
from vixio.settings import Settings
from vixio.settings.cluster import ClusterSection

_log = logging.getLogger(__name__)


def make_context(settings: Settings, *, worker: int = 0) -> ClusterContext:
    """Return the part of this process; without the section ``cluster`` it is alone.

    ``worker``: its number among several that share their ports. Raises PluginUnavailable.
    """
    section = settings.cluster
    if section is None:
        return ClusterContext()
    try:
        from vixio.cluster.nats.cluster import NatsCluster, Node
    except ImportError as error:
        raise PluginUnavailable(
            f"{error.name} is not installed, which `cluster` needs: {how_to_install('nats')}"
        ) from error
    _warn_of_files(settings)
    node = Node(
        _name(section, settings.server.port, worker),
        section.address,
        section.secret.get_secret_value(),
        reached_at=section.reached_at,
        replicas=section.replicas,
        websocket_url=section.websocket_url,
        conversations=settings.memory.store == "none",
    )
    cluster = NatsCluster(node)
    return ClusterContext(
        cluster,
        section.secret.get_secret_value(),
        share_ports=worker > 0,
        worker=worker,
        balanced=cluster.least_loaded,
    )


def _name(section: ClusterSection, port: int, worker: int) -> str:
    name = section.node or f"{socket.gethostname()}-{port}"
    return f"{name}-{worker}" if worker else name


def _warn_of_files(settings: Settings) -> None:
    """Say what nodes on several machines do not share."""
    if not settings.data.database.get_secret_value():
        _log.warning(
            "the registry and the memory are a file of this machine, so nodes on other machines "
            "know other devices: set data.database to the URL of a PostgreSQL database"
        )
