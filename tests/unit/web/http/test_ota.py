from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.core.errors import ConfigError
from vixio.transports.admission.access import OtaDecision
from vixio.transports.admission.firmware import Firmware
from vixio.transports.admission.identity import Identity
from vixio.web.http.ota import (
    OtaSettings,
    device_version,
    ota_answer,
    read_ota_request,
    stated_firmware,
    utc_offset,
    websocket_url,
)

PLAIN = OtaSettings()
PROXIED = OtaSettings(trust_forwarded=True)


@pytest.mark.parametrize(
    ("settings", "headers", "url"),
    [
        (PLAIN, {"host": "192.168.1.5:8003"}, "ws://192.168.1.5:8000/xiaozhi/v1/"),
        (PLAIN, {"host": "vixio.local"}, "ws://vixio.local:8000/xiaozhi/v1/"),
        (PLAIN, {"host": "[fe80::1]:8003"}, "ws://[fe80::1]:8000/xiaozhi/v1/"),
        (PLAIN, {}, "ws://10.0.0.1:8000/xiaozhi/v1/"),
        (PLAIN, {"host": 'evil"/path'}, "ws://10.0.0.1:8000/xiaozhi/v1/"),
        (PLAIN, {"host": "a@b:1"}, "ws://10.0.0.1:8000/xiaozhi/v1/"),
        (
            PLAIN,
            {"host": "h:1", "x-forwarded-host": "evil.example", "x-forwarded-proto": "https"},
            "ws://h:8000/xiaozhi/v1/",
        ),
        (
            PROXIED,
            {"host": "h:1", "x-forwarded-host": "voice.example", "x-forwarded-proto": "https"},
            "wss://voice.example/xiaozhi/v1/",
        ),
        (
            PROXIED,
            {"host": "h:1", "x-forwarded-host": "a.example:81, b.example"},
            "ws://a.example:81/xiaozhi/v1/",
        ),
        (
            PROXIED,
            {"host": "voice.example", "x-forwarded-proto": "https"},
            "wss://voice.example/xiaozhi/v1/",
        ),
        (PROXIED, {"host": "h:1", "x-forwarded-host": "<bad>"}, "ws://h:8000/xiaozhi/v1/"),
        (PROXIED, {"host": "h:1"}, "ws://h:8000/xiaozhi/v1/"),
        (
            PLAIN,
            {"host": "h:1", "x-forwarded-port": "8443", "forwarded": "host=evil.example"},
            "ws://h:8000/xiaozhi/v1/",
        ),
        (
            PROXIED,
            {"host": "h:1", "forwarded": 'proto=https;host="voice.example:8443"'},
            "wss://voice.example:8443/xiaozhi/v1/",
        ),
        (
            OtaSettings(websocket_url="wss://voice.example/v"),
            {"host": "h:1"},
            "wss://voice.example/v",
        ),
        (
            OtaSettings(websocket_port=9, websocket_path="/w"),
            {"host": "h:1"},
            "ws://h:9/w",
        ),
    ],
)
def test_the_url_is_on_the_address_through_which_the_device_came(
    settings: OtaSettings, headers: dict[str, str], url: str
) -> None:
    assert websocket_url(settings, headers, "10.0.0.1") == url


@pytest.mark.parametrize(
    ("body", "user_agent", "version"),
    [
        ('{"application":{"version":"2.0.1"}}', "box/1.0", "2.0.1"),
        ('{"application":{"version":"2.0.1-beta.3"}}', "", "2.0.1"),
        ('{"application":{"version":""}}', "bread-compact-wifi/1.9.4", "1.9.4"),
        ('{"application":{"version":7}}', "box/1.0", "1.0"),
        ('{"application":[]}', "box/1.0", "1.0"),
        ("[]", "box", "0.0.0"),
        ("not json", "", "0.0.0"),
        ("[" * 50_000, "", "0.0.0"),
        ('{"application":{"version":"v1"}}', "", "0.0.0"),
        ('{"application":{"version":"99999999999.1"}}', "", "999999999"),
        ("", "labplus-mpython-v3/2.4.2", "2.4.2"),
        ("", "esp32-s3-touch-amoled-1.8/2.4.2-rc1", "2.4.2"),
        ("", " otto-robot/2.0.3 ", "2.0.3"),
    ],
)
def test_the_device_hears_its_own_version(body: str, user_agent: str, version: str) -> None:
    assert device_version(body.encode(), user_agent) == version


@pytest.mark.parametrize(
    "user_agent",
    [
        "python-httpx/0.27.0",
        "python-httpx2/2.0.1",
        "python-requests/2.32.3",
        "Python-urllib/3.11",
        "python-urllib3/2.2.1",
        "Python/3.11 aiohttp/3.9.5",
        "Python/3.11 websockets/13.0",
        "curl/8.5.0",
        "Wget/1.21.4",
        "okhttp/4.12.0",
        "Go-http-client/1.1",
        "axios/1.7.2",
        "node",
        "node-fetch/1.0 (+https://github.com/bitinn/node-fetch)",
        "undici/6.1.0",
        "Dart/3.4 (dart:io)",
        "Java-http-client/21.0.1",
        "Apache-HttpClient/4.5.14 (Java/17.0.1)",
        "Ruby/3.2.0",
        "GuzzleHttp/7",
        "PostmanRuntime/7.39.0",
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36",
        "ESP32 HTTP Client/1.0",
        "reqwest/0.12.4",
        "box/1",
        "",
    ],
)
def test_the_version_of_an_http_library_is_not_the_firmwares(user_agent: str) -> None:
    headers = {"host": "h:8003", "device-id": "aa", "user-agent": user_agent}
    answer = ota_answer(PLAIN, headers, b"", "h")
    assert answer["firmware"] == {"version": "0.0.0", "url": ""}


@pytest.mark.parametrize(
    ("body", "user_agent", "board", "version"),
    [
        ("", "esp-box-3/2.0.1", "esp-box-3", "2.0.1"),
        ('{"board":{"type":"bread"}}', "esp-box-3/2.0.1", "esp-box-3", "2.0.1"),
        (
            '{"board":{"type":"bread-compact"},"application":{"version":"1.2"}}',
            "python-httpx/0.27.0",
            "bread-compact",
            "1.2",
        ),
        ('{"board":{"type":"my secret words"}}', "", "", ""),
        ('{"board":{"type":["x"]}}', "", "", ""),
        ('{"board":"x"}', "", "", ""),
        ("[]", "curl/8.5.0", "", ""),
    ],
)
def test_the_firmware_that_a_device_states(
    body: str, user_agent: str, board: str, version: str
) -> None:
    assert stated_firmware(body.encode(), user_agent) == Firmware(board, version)


@given(st.binary(max_size=100), st.text(max_size=20))
def test_no_version_can_end_the_device(body: bytes, user_agent: str) -> None:
    for part in device_version(body, user_agent).split("."):
        assert part.isdecimal()
        assert int(part) < 2**31


def has_null(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(has_null, value.values()))
    return value is None


def test_the_answer_has_the_sections_and_no_null() -> None:
    before = time.time()
    answer = ota_answer(PLAIN, {"host": "h:8003", "device-id": "aa"}, b"", "h")
    assert set(answer) == {"server_time", "firmware", "websocket"}
    assert not has_null(answer)
    told = answer["server_time"]["timestamp"]
    assert round(before * 1000) <= told <= round(time.time() * 1000)
    assert isinstance(answer["server_time"]["timezone_offset"], int)
    assert answer["firmware"] == {"version": "0.0.0", "url": ""}
    assert answer["websocket"] == {"url": "ws://h:8000/xiaozhi/v1/", "version": 1, "token": "open"}
    json.dumps(answer)


def test_the_offset_is_that_of_the_time_zone_in_minutes() -> None:
    answer = ota_answer(OtaSettings(zone=lambda: ZoneInfo("Asia/Kathmandu")), {}, b"", "h")
    assert answer["server_time"]["timezone_offset"] == 5 * 60 + 45


@pytest.mark.parametrize(
    ("zone", "winter", "summer"),
    [
        ("Europe/Berlin", 60, 120),
        ("America/St_Johns", -210, -150),
        ("Australia/Lord_Howe", 660, 630),  # southern hemisphere, half an hour of summer time
        ("Asia/Shanghai", 480, 480),
    ],
)
def test_the_offset_follows_daylight_saving_time(zone: str, winter: int, summer: int) -> None:
    january, july = datetime(2026, 1, 15, tzinfo=UTC), datetime(2026, 7, 15, tzinfo=UTC)
    assert utc_offset(ZoneInfo(zone), january) == winter
    assert utc_offset(ZoneInfo(zone), july) == summer


def test_the_offset_changes_in_the_second_in_which_the_clocks_do() -> None:
    # Berlin, 29 March 2026: from 2:00 to 3:00.
    change = datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert utc_offset(ZoneInfo("Europe/Berlin"), change - timedelta(seconds=1)) == 60
    assert utc_offset(ZoneInfo("Europe/Berlin"), change) == 120


def test_without_a_time_zone_the_offset_is_that_of_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "XYZ-3:30")
    time.tzset()
    try:
        answer = ota_answer(PLAIN, {}, b"", "h")
    finally:
        monkeypatch.undo()
        time.tzset()
    assert answer["server_time"]["timezone_offset"] == 210


def test_an_invited_device_always_gets_a_token() -> None:
    settings = OtaSettings(websocket_version=3)

    def answered(token: str) -> object:
        invited = OtaDecision(admitted=True, token=token)
        return ota_answer(settings, {}, b"", "h", decision=invited)["websocket"]

    assert answered("t") == {"url": "ws://h:8000/xiaozhi/v1/", "version": 3, "token": "t"}
    assert answered("") == {"url": "ws://h:8000/xiaozhi/v1/", "version": 3, "token": "open"}


def test_a_device_that_leaves_echo_cancellation_to_the_server_is_told_to_send_timestamps() -> None:
    decision = OtaDecision(admitted=True, server_aec=True)
    assert ota_answer(PLAIN, {}, b"", "h", decision=decision)["websocket"]["version"] == 2


def test_a_device_that_is_not_admitted_gets_a_notice() -> None:
    def answered(
        message: str, code: str = "", challenge: str = "", token: str = ""
    ) -> dict[str, Any]:
        waiting = OtaDecision(
            admitted=False, message=message, code=code, challenge=challenge, token=token
        )
        return ota_answer(OtaSettings(), {}, b"", "h", decision=waiting)

    waits = answered(code="012345", message="Enter it.", challenge="c", token="t")
    # For a client that asks once, and connects after the claim.
    assert waits["websocket"] == {"url": "ws://h:8000/xiaozhi/v1/", "version": 1, "token": "t"}
    assert "websocket" not in answered(message="Unknown.", challenge="c")
    assert waits["activation"] == {"code": "012345", "message": "Enter it.", "challenge": "c"}
    # Without a challenge the device does not ask /activate; without a code it shows nothing.
    assert answered(message="Blocked.")["activation"] == {"code": "", "message": "Blocked."}


@pytest.mark.parametrize(
    "wrong", [{"websocket_version": 4}, {"ota_path": "ota"}, {"websocket_path": "w"}]
)
def test_settings_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        OtaSettings(**wrong)


@pytest.mark.parametrize(
    ("board", "rssi"),
    [
        ('{"rssi":-61,"ssid":"private"}', -61),
        ('{"rssi":0}', None),
        ('{"rssi":-200}', None),
        ('{"rssi":"-61"}', None),
        ('{"rssi":-61.5}', None),
        ('{"rssi":true}', None),
        ("[-61]", None),
        ("null", None),
    ],
)
def test_the_strength_of_the_signal(board: str, rssi: int | None) -> None:
    visit = read_ota_request(Identity("aa"), {}, f'{{"board":{board}}}'.encode(), "127.0.0.1")
    assert visit.rssi == rssi
    assert "private" not in repr(visit)
