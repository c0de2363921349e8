"""The clusters that the contract is held against, each with two members."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from tests.support.clusters import workers
from tests.support.nats_nodes import jetstream, nodes
from vixio.cluster.workers.coordinator import Coordinator
from vixio.core.cluster import Cluster
from vixio.core.local_cluster import LocalCluster

DEVICE = "02:00:00:00:00:01"
SHORT_S = 1.0
"""For a session to end. Not shorter: it is the time in which one does, on a busy machine."""

Members = tuple[Cluster, Cluster]


@asynccontextmanager
async def local() -> AsyncIterator[Members]:
    cluster = LocalCluster(release_timeout=SHORT_S)
    yield cluster, cluster


@asynccontextmanager
async def two_workers() -> AsyncIterator[Members]:
    async with workers(2, Coordinator(release_timeout=SHORT_S)) as (one, two):
        yield one, two


@asynccontextmanager
async def same_worker() -> AsyncIterator[Members]:
    async with workers(2, Coordinator(release_timeout=SHORT_S)) as (one, _):
        yield one, one


@asynccontextmanager
async def two_nodes() -> AsyncIterator[Members]:
    with jetstream() as server:
        async with nodes(server.url, 2, release_timeout=SHORT_S) as (one, two):
            yield one, two


@asynccontextmanager
async def same_node() -> AsyncIterator[Members]:
    with jetstream() as server:
        async with nodes(server.url, 2, release_timeout=SHORT_S) as (one, _):
            yield one, one


CLUSTERS: dict[str, Callable[[], AbstractAsyncContextManager[Members]]] = {
    "local": local,
    "two workers": two_workers,
    "one of two workers": same_worker,
    "two nodes": two_nodes,
    "one of two nodes": same_node,
}


@pytest.fixture(params=sorted(CLUSTERS))
async def members(request: pytest.FixtureRequest) -> AsyncIterator[Members]:
    async with CLUSTERS[request.param]() as made:
        yield made
