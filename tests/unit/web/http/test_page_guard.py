"""Which pages may read and change what, through a real server."""

from __future__ import annotations

import pytest

from tests.unit.web.http.test_server import request, serving
from vixio.core.metrics import Counters
from vixio.transports.admission.origin import OriginPolicy


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


PAGE = "https://talk.example"
ASKED = "device-id, client-id, authorization, content-type, x-of-a-client"


def preflight(origin: str, method: str = "POST") -> dict[str, str]:
    """Return the headers with which a browser asks before a page's request."""
    return {
        "Origin": origin,
        "Access_Control_Request_Method": method,
        "Access_Control_Request_Headers": ASKED,
    }


@pytest.mark.parametrize("path", ["/xiaozhi/ota/", "/xiaozhi/ota", "/xiaozhi/ota/activate"])
@pytest.mark.parametrize(
    ("origin", "method", "status"),
    [
        (PAGE, "POST", 200),
        (PAGE, "GET", 200),
        ("https://TALK.example:443", "POST", 200),
        (PAGE, "DELETE", 400),
        ("https://talk.example:8443", "POST", 400),
        ("https://evil.example", "POST", 400),
        ("http://127.0.0.1:8080", "POST", 400),  # of the same host, and not listed
        ("null", "POST", 400),
    ],
)
async def test_a_browser_asks_first(path: str, origin: str, method: str, status: int) -> None:
    async with serving(origins=OriginPolicy([PAGE])) as port:
        answer = await request(port, path, "OPTIONS", b"", **preflight(origin, method))
    assert answer.status == status
    allowed = answer.headers.get("access-control-allow-origin")
    assert allowed == (origin if status == 200 or method == "DELETE" else None)
    if status == 200:
        assert answer.headers["access-control-allow-headers"] == ASKED
        assert "access-control-allow-credentials" not in answer.headers


async def test_a_public_page_may_ask_a_private_network() -> None:
    private = {**preflight(PAGE), "Access_Control_Request_Private_Network": "true"}
    async with serving(origins=OriginPolicy([PAGE])) as port:
        answer = await request(port, "/xiaozhi/ota/", "OPTIONS", b"", **private)
    assert answer.headers["access-control-allow-private-network"] == "true"


async def test_an_allowed_page_reads_the_answer() -> None:
    async with serving(origins=OriginPolicy([PAGE])) as port:
        headers = {"Device_Id": "aa", "Client_Id": "b"}
        answer = await request(port, "/xiaozhi/ota/", "POST", b"{}", Origin=PAGE, **headers)
        assert (answer.status, "websocket" in answer.json()) == (200, True)
        assert answer.headers["access-control-allow-origin"] == PAGE
        foreign = await request(
            port, "/xiaozhi/ota/", "POST", b"{}", Origin="https://evil.example", **headers
        )
        assert foreign.status == 403
        assert "access-control-allow-origin" not in foreign.headers
        device = await request(port, "/xiaozhi/ota/", "POST", b"{}", **headers)
        assert "access-control-allow-origin" not in device.headers


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/", "/xiaozhi/firmware/x.bin"])
async def test_nothing_else_is_shared(path: str) -> None:
    async with serving(origins=OriginPolicy([PAGE])) as port:
        for method in ("GET", "OPTIONS"):
            answer = await request(port, path, method, b"", **preflight(PAGE, "GET"))
            assert "access-control-allow-origin" not in answer.headers
