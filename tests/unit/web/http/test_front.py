"""The page at ``/`` says what the server is and what to enter on a device."""

from __future__ import annotations

from starlette.testclient import TestClient

from vixio.web.http.app import create_http_app
from vixio.web.http.ota import OtaSettings


def page(**headers: str) -> str:
    client = TestClient(create_http_app(OtaSettings()), client=("127.0.0.1", 1))
    answer = client.get(
        "/", headers={name.replace("_", "-"): each for name, each in headers.items()}
    )
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    return answer.text


def test_it_names_the_address_under_which_it_was_opened() -> None:
    text = page(host="192.168.1.20:8003")
    assert "OTA URL    http://192.168.1.20:8003/xiaozhi/ota/\n" in text
    assert "health     http://192.168.1.20:8003/healthz\n" in text
    assert "A device cannot use" not in text


def test_an_address_of_this_machine_alone_is_none_for_a_device() -> None:
    for host in ("localhost:8003", "127.0.0.1:8003", "[::1]:8003"):
        text = page(host=host)
        assert f"http://{host}/xiaozhi/ota/" in text
        assert "A device cannot use this address" in text


def test_a_browser_is_sent_to_the_console_if_there_is_one() -> None:
    client = TestClient(create_http_app(OtaSettings(), console=True), client=("127.0.0.1", 1))
    browser = {"accept": "text/html,application/xhtml+xml"}
    answer = client.get("/", headers=browser, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "console/")
    assert "console    http://testserver:80/console/\n" in client.get("/").text
    without = TestClient(create_http_app(OtaSettings()), client=("127.0.0.1", 1))
    answer = without.get("/", headers=browser)
    assert answer.status_code == 200
    assert "console" not in answer.text


def test_behind_a_proxy() -> None:
    text = page(host="inner:1", x_forwarded_host="voice.example", x_forwarded_proto="https")
    assert "https://voice.example/xiaozhi/ota/" in text


def test_a_host_that_is_none_is_not_repeated() -> None:
    assert "<b>" not in page(host="<b>x</b>:8003")


def test_devices_get_what_they_got() -> None:
    client = TestClient(create_http_app(OtaSettings()))
    assert client.get("/xiaozhi/ota/").headers["content-type"] == "application/json"
    assert client.post("/", content=b"x").status_code == 405
