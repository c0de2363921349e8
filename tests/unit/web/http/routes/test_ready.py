"""The readiness page: 200 or 503, with all checks by name."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.testclient import TestClient

from vixio.core.readiness import Readiness
from vixio.web.http.routes.ready import READY_PATH, ready_routes


def test_it_is_503_as_long_as_one_check_fails() -> None:
    readiness = Readiness()
    trouble = ["does not answer"]
    readiness.add("ports", lambda: "")
    readiness.add("database", lambda: "".join(trouble))
    client = TestClient(Starlette(routes=list(ready_routes(readiness))))
    answer = client.get(READY_PATH)
    assert answer.status_code == 503
    assert answer.json() == {
        "ready": False,
        "checks": [
            {"name": "ports", "ok": True, "reason": ""},
            {"name": "database", "ok": False, "reason": "does not answer"},
        ],
    }
    trouble.clear()
    answer = client.get(READY_PATH)
    assert answer.status_code == 200
    assert answer.json()["ready"] is True
    assert answer.headers["Cache-Control"] == "no-store"
    assert client.head(READY_PATH).status_code == 200
    assert client.post(READY_PATH).status_code == 405
