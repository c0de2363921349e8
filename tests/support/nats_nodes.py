"""Nodes of a cluster in one event loop, on a real NATS server with JetStream."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.support.brokers import NatsServer, nats_program
from tests.support.waiting import until
from vixio.bus.address import parse_address
from vixio.cluster.nats.cluster import NatsCluster, Node
from vixio.core.cluster import RELEASE_S

REQUIRED = "VIXIO_TEST_CLUSTER"
"""Environment variable: set by `make test-cluster`, which alone runs these tests."""

SECRET = "of the tests' cluster, and long enough"


class JetStreamServer(NatsServer):
    """A NATS server that keeps buckets, also over its own end."""

    def command(self) -> tuple[list[str], dict[str, str]]:
        words, environment = super().command()
        return [*words, "-js", "-sd", str(self.directory / "jetstream")], environment

    @property
    def section(self) -> dict[str, Any]:
        """What the section ``cluster`` of the settings has of it."""
        return {"url": self.url}

    def forget(self) -> None:
        """Remove what it has stored; it does not run."""
        shutil.rmtree(self.directory / "jetstream")


def only_here() -> None:
    """Skip the test unless `make test-cluster` runs it."""
    if not os.environ.get(REQUIRED):
        pytest.skip("`make test-cluster` runs it")  # `make test` is kept short
    nats_program()


@contextmanager
def jetstream() -> Iterator[JetStreamServer]:
    """Run a server of one's own."""
    only_here()
    with TemporaryDirectory(prefix="vixio-jetstream-") as directory:
        server = JetStreamServer(Path(directory))
        server.start()
        try:
            yield server
        finally:
            server.kill()


@asynccontextmanager
async def nodes(
    url: str,
    count: int,
    *,
    release_timeout: float = RELEASE_S,
    secret: str = SECRET,
    replicas: int = 1,
) -> AsyncIterator[list[NatsCluster]]:
    """Yield nodes that know each other; nothing of them is left at the end."""
    made = [
        NatsCluster(
            Node(f"node-{number}", parse_address(url), secret, replicas=replicas),
            release_timeout=release_timeout,
        )
        for number in range(1, count + 1)
    ]
    try:
        for node in made:
            await node.start()
        await until(
            lambda: all(sum(peer.known for peer in node.peers.nodes) == count - 1 for node in made)
        )
        yield made
    finally:
        for node in made:
            await node.close()
