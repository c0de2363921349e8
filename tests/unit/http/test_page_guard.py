"""Which names may be used to read the server's state, through a real server."""

from __future__ import annotations

import pytest

from tests.unit.http.test_server import request, serving
from vixio.core.metrics import Counters


@pytest.mark.parametrize(
    ("path", "host", "status"),
    [
        ("/healthz", "127.0.0.1:8003", 200),
        ("/healthz", "10.42.0.7:8003", 200),  # a probe of Kubernetes
        ("/healthz", "vixio:8003", 200),  # a service of a compose file
        ("/healthz", "vixio.default.svc.cluster.local", 200),
        ("/healthz", "", 200),  # a probe of haproxy
        ("/healthz", "evil.example", 403),
        ("/healthz", "evil.example:8003", 403),
        ("/metrics", "evil.example", 403),
        ("/readyz", "evil.example", 403),
        ("/xiaozhi/ota/", "evil.example", 200),  # devices need no name
    ],
)
async def test_who_may_read_the_state(path: str, host: str, status: int) -> None:
    counters = Counters()
    async with serving(counters=counters) as port:
        answer = await request(port, path, Host=host, Device_Id="a", Client_Id="b")
    assert answer.status == status
    assert counters.snapshot().get("http.refused.host", 0) == (status == 403)
