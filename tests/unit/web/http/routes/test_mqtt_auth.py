"""The route at which a broker asks for a device's password."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from vixio.core.metrics import Counters
from vixio.web.http.routes.mqtt import mqtt_routes

SECRET = "a secret of the broker"
ASKED = {"clientid": "dev", "username": "user@host", "password": "token", "peerhost": "10.0.0.9"}


class Asking:
    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.counters = Counters()
        routes = mqtt_routes(self._may_connect, SECRET, self.counters)
        self.client = TestClient(Starlette(routes=list(routes)))

    def _may_connect(self, *words: str) -> bool:
        self.asked.append(words)
        return words[2] == "token"

    def post(self, body: bytes, secret: str | None = SECRET) -> tuple[int, Any]:
        headers = {"content-type": "application/json"}
        if secret is not None:
            headers["authorization"] = f"Bearer {secret}"
        answer = self.client.post("/mqtt/auth", content=body, headers=headers)
        return answer.status_code, answer.json()


def test_it_is_answered_as_the_broker_reads_it() -> None:
    door = Asking()
    assert door.post(json.dumps(ASKED).encode()) == (
        200,
        {"result": "allow", "is_superuser": False},
    )
    wrong = json.dumps({**ASKED, "password": None}).encode()
    assert door.post(wrong) == (200, {"result": "deny", "is_superuser": False})
    assert door.asked == [tuple(ASKED.values()), ("dev", "user@host", "", "10.0.0.9")]
    assert door.counters.get("http.mqtt.allowed") == door.counters.get("http.mqtt.denied") == 1


@pytest.mark.parametrize("secret", [None, "", "another secret", SECRET[:-1]])
def test_without_the_secret_nothing_is_said(secret: str | None) -> None:
    door = Asking()
    status, answer = door.post(json.dumps(ASKED).encode(), secret)
    assert (status, answer["result"]) == (403, "deny")


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'"x"', b"\xff", b"{" * 5_000, b" " * 9_000])
def test_no_question_is_refused(body: bytes) -> None:
    door = Asking()
    assert door.post(body)[0] == 403
    assert not door.asked
    assert door.counters.get("http.mqtt.refused") == 1
