"""Who may read the metrics."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from vixio.core.errors import VixioError
from vixio.settings.metrics import PRIVATE
from vixio.transports.admission.addresses import Networks, Proxies
from vixio.web.http.routes.metrics import METRICS_PATH, metrics_routes

PROXY = "10.0.0.9"


async def scrape(accept: str) -> tuple[bytes, str]:
    return b"m 1\n", f"text/plain; asked={accept}"


def client(address: str, page: object = scrape) -> TestClient:
    allowed, proxies = Networks(PRIVATE, "metrics.allow"), Proxies([PROXY])
    app = Starlette(routes=list(metrics_routes(page, allowed, proxies)))  # type: ignore[arg-type]  # one of two
    return TestClient(app, client=(address, 1234))


@pytest.mark.parametrize(
    ("address", "headers", "status"),
    [
        ("127.0.0.1", {}, 200),
        ("::1", {}, 200),
        ("::ffff:192.168.1.7", {}, 200),
        ("fd00::7", {}, 200),
        ("192.168.1.7", {}, 200),
        ("203.0.113.7", {}, 403),
        ("2001:db8::7", {}, 403),
        ("not an address", {}, 403),
        # Through a proxy of ours the client counts, and through any other it is unknown.
        (PROXY, {"X-Forwarded-For": "192.168.1.7"}, 200),
        (PROXY, {"X-Forwarded-For": "203.0.113.7"}, 403),
        (PROXY, {"X-Forwarded-For": "192.168.1.7, 203.0.113.7"}, 403),
        (PROXY, {"X-Forwarded-For": "garbage"}, 403),
        (PROXY, {"Forwarded": "for=192.168.1.7"}, 403),
        ("192.168.1.7", {"X-Forwarded-For": "127.0.0.1"}, 403),
        ("203.0.113.7", {"X-Forwarded-For": "127.0.0.1"}, 403),
    ],
)
def test_private_networks_may(address: str, headers: dict[str, str], status: int) -> None:
    answer = client(address).get(METRICS_PATH, headers=headers)
    assert answer.status_code == status
    assert ("m 1" in answer.text) is (status == 200)


def test_the_scraper_says_which_form_it_wants() -> None:
    answer = client("127.0.0.1").get(METRICS_PATH, headers={"Accept": "openmetrics"})
    assert answer.headers["Content-Type"] == "text/plain; asked=openmetrics"
    assert answer.headers["Cache-Control"] == "no-store"
    assert client("127.0.0.1").post(METRICS_PATH).status_code == 405


def test_without_the_library_the_reason_is_told() -> None:
    async def missing(accept: str) -> tuple[bytes, str]:
        raise VixioError("prometheus_client is not installed: run `make -B setup`")

    answer = client("127.0.0.1", missing).get(METRICS_PATH)
    assert answer.status_code == 503
    assert "make -B setup" in answer.text
