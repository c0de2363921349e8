"""Has the tests of several processes run once more with these as nodes of a cluster.

`make test-cluster` does, with a NATS server for each test; elsewhere the processes of a server are
joined by its supervisor.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Final

import pytest

from tests.support.nats_nodes import REQUIRED, SECRET, jetstream

_urls: Final[list[str]] = []


@pytest.fixture(autouse=True)
def joined_by_nats() -> Iterator[None]:
    """Run a NATS server for a test of several processes, if they are to be nodes."""
    if not os.environ.get(REQUIRED):
        yield
        return
    with jetstream() as server:
        _urls.append(server.url)
        yield
        _urls.clear()


def cluster_yaml() -> str:
    """Return the section of the settings that joins the processes; empty: they are joined."""
    return f"cluster: {json.dumps({'url': _urls[0], 'secret': SECRET})}\n" if _urls else ""
