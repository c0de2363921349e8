"""A NATS server for the tests of a file; only `make test-cluster` has one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.nats_nodes import JetStreamServer, jetstream


@pytest.fixture
def bus() -> Iterator[JetStreamServer]:
    """Run a NATS server with JetStream for one test."""
    with jetstream() as server:
        yield server
