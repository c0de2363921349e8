"""The device's boot: query the OTA endpoint for the configuration, and activate.

Follows main/ota.cc (SetupHttp, CheckVersion, Activate, GetActivationPayload, ParseVersion) and
Application::CheckNewVersion in main/application.cc.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import http.client
import json
import ssl
from dataclasses import dataclass, field
from typing import Any, Final, TypeGuard
from urllib.parse import urlsplit

from firmware_test_client.config import DeviceConfig
from firmware_test_client.errors import OtaError

_ACTIVATION_TRIES: Final = 10  # Application::CheckNewVersion
_ACTIVATION_ROUNDS: Final = 2  # the firmware repeats without end; a test must end


@dataclass(frozen=True, slots=True)
class Activation:
    """The activation code that the device shows and reads aloud."""

    code: str | None = None
    message: str = ""
    challenge: str | None = None
    timeout_ms: int | None = None


@dataclass(slots=True)
class OtaAnswer:
    """The endpoint's answer as the firmware stores it."""

    status: int
    headers: dict[str, str]  # keys in lower case
    body: dict[str, Any]
    websocket_url: str = ""
    token: str = ""
    version: int = 0  # 0: not given, the device keeps 1
    server_time: float | None = None  # seconds since 1970, in local time if there was an offset
    firmware_version: str | None = None
    firmware_url: str | None = None
    upgrade: bool = False  # a newer version was offered, or forced
    activation: Activation | None = None
    mqtt: dict[str, Any] | None = None
    activation_tries: list[int] = field(default_factory=list)  # HTTP status of each


def system_info(config: DeviceConfig) -> dict[str, Any]:
    """Board::GetSystemInfoJson in main/boards/common/board.cc."""
    return {
        "version": 2,
        "language": config.language,
        "flash_size": 16777216,
        "minimum_free_heap_size": "8457848",
        "mac_address": config.device_id,
        "uuid": config.client_id,
        "chip_model_name": "esp32s3",
        "chip_info": {"model": 9, "cores": 2, "revision": 2, "features": 18},
        "application": {
            "name": "xiaozhi",
            "version": config.firmware_version,
            "compile_time": "Aug  1 2026T00:00:00Z",
            "idf_version": "v5.5.1",
            "elf_sha256": hashlib.sha256(config.firmware_version.encode()).hexdigest(),
        },
        "partition_table": [
            {"label": "ota_0", "type": 0, "subtype": 16, "address": 131072, "size": 4128768}
        ],
        "ota": {"label": "ota_0"},
        "display": {"monochrome": False, "width": 320, "height": 240},
        "board": {
            "type": config.board,
            "name": config.board,
            "ssid": "simulated",
            "rssi": -42,
            "channel": 6,
            "ip": "127.0.0.1",
            "mac": config.device_id,
        },
    }


def request_headers(config: DeviceConfig) -> dict[str, str]:
    """Ota::SetupHttp."""
    headers = {
        "Activation-Version": "1" if config.serial_number is None else "2",
        "Device-Id": config.device_id,
        "Client-Id": config.client_id,
        "User-Agent": f"{config.board}/{config.firmware_version}",
        "Accept-Language": config.language,
        "Content-Type": "application/json",
    }
    if config.serial_number is not None:
        headers["Serial-Number"] = config.serial_number
    return headers


async def boot(config: DeviceConfig) -> OtaAnswer:
    """Query the endpoint, and poll activation if it is required.

    Raises:
        OtaError: unreachable, status other than 200, no JSON object, no websocket section, a
            firmware version with other parts than numbers, or activation that does not end.
    """
    tries: list[int] = []
    for _ in range(_ACTIVATION_ROUNDS):
        answer = await check_version(config)
        if answer.activation is None:
            answer.activation_tries = tries
            return answer
        tries += await _activate(config, answer.activation)
    raise OtaError(f"activation not finished, status codes were {tries}")


async def check_version(config: DeviceConfig) -> OtaAnswer:
    """One round of Ota::CheckVersion.

    Raises:
        OtaError: as `boot`.
    """
    url = config.ota_url or ""
    status, headers, raw = await _post(config, url, json.dumps(system_info(config)))
    if status != 200:
        raise OtaError(f"{url} answered HTTP {status}")
    try:
        body = json.loads(raw)
    except ValueError as error:
        raise OtaError(f"{url} answered with invalid JSON") from error
    if not isinstance(body, dict):
        raise OtaError(f"{url} answered with JSON that is not an object")
    return _read_answer(config, url, OtaAnswer(status, headers, body))


def _read_answer(config: DeviceConfig, url: str, answer: OtaAnswer) -> OtaAnswer:
    websocket, server_time, firmware, activation, mqtt = (
        _section(answer.body, key)
        for key in ("websocket", "server_time", "firmware", "activation", "mqtt")
    )
    if activation is not None:
        code, challenge = activation.get("code"), activation.get("challenge")
        if isinstance(code, str) or isinstance(challenge, str):
            message, timeout = activation.get("message"), activation.get("timeout_ms")
            answer.activation = Activation(
                code if isinstance(code, str) else None,
                message if isinstance(message, str) else "",
                challenge if isinstance(challenge, str) else None,
                timeout if isinstance(timeout, int) else None,
            )
    if server_time is not None and _is_number(server_time.get("timestamp")):
        offset = server_time.get("timezone_offset")
        minutes = offset if _is_number(offset) else 0
        answer.server_time = server_time["timestamp"] / 1000 + minutes * 60
    if firmware is not None:
        version, link = firmware.get("version"), firmware.get("url")
        if isinstance(version, str) and isinstance(link, str):
            answer.firmware_version, answer.firmware_url = version, link
            newer = is_newer(config.firmware_version, version)
            answer.upgrade = newer or firmware.get("force") == 1
    answer.mqtt = mqtt
    if websocket is None or not isinstance(websocket.get("url"), str):
        raise OtaError(f"{url} answered without a websocket url")
    answer.websocket_url = websocket["url"]
    token, number = websocket.get("token"), websocket.get("version")
    answer.token = token if isinstance(token, str) else ""
    answer.version = number if _is_number(number) else 0
    return answer


def _section(body: dict[str, Any], key: str) -> dict[str, Any] | None:
    value = body.get(key)
    return value if isinstance(value, dict) else None


def _is_number(value: object) -> TypeGuard[int]:
    """cJSON_IsNumber, without fractions, which servers do not send."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_newer(current: str, offered: str) -> bool:
    """Ota::IsNewVersionAvailable.

    Raises:
        OtaError: a part is not a number; std::stoi then throws and the firmware restarts.
    """
    try:
        have, new = ([int(part) for part in version.split(".")] for version in (current, offered))
    except ValueError as error:
        raise OtaError(f"firmware version {offered!r} is not made of numbers and dots") from error
    for mine, theirs in zip(have, new, strict=False):
        if mine != theirs:
            return theirs > mine
    return len(new) > len(have)


def activation_payload(config: DeviceConfig, challenge: str) -> str:
    """Ota::GetActivationPayload."""
    if config.serial_number is None:
        return "{}"
    digest = hmac.new(config.hmac_key, challenge.encode(), hashlib.sha256).hexdigest()
    return json.dumps(
        {
            "algorithm": "hmac-sha256",
            "serial_number": config.serial_number,
            "challenge": challenge,
            "hmac": digest,
        }
    )


async def _activate(config: DeviceConfig, activation: Activation) -> list[int]:
    """Application::CheckNewVersion: ten tries, 3 s after a 202, 10 s after anything else."""
    statuses: list[int] = []
    if activation.challenge is None:  # Ota::Activate sends nothing without a challenge
        await asyncio.sleep(config.activation_error_retry)
        return statuses
    url = (config.ota_url or "").rstrip("/") + "/activate"
    payload = activation_payload(config, activation.challenge)
    for _ in range(_ACTIVATION_TRIES):
        status, _headers, _body = await _post(config, url, payload)
        statuses.append(status)
        if status == 200:
            break
        retry = config.activation_retry if status == 202 else config.activation_error_retry
        await asyncio.sleep(retry)
    return statuses


async def _post(config: DeviceConfig, url: str, body: str) -> tuple[int, dict[str, str], bytes]:
    try:
        return await asyncio.to_thread(_post_blocking, config, url, body)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise OtaError(f"cannot reach {url}: {str(error) or type(error).__name__}") from error


def _post_blocking(config: DeviceConfig, url: str, body: str) -> tuple[int, dict[str, str], bytes]:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or parts.hostname is None:
        raise ValueError("not an http or https address")
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        connection = http.client.HTTPSConnection(
            parts.hostname,
            parts.port,
            timeout=config.http_timeout,
            context=ssl.create_default_context(),
        )
    else:
        connection = http.client.HTTPConnection(
            parts.hostname, parts.port, timeout=config.http_timeout
        )
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.request("POST", path, body.encode(), request_headers(config))
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return response.status, headers, response.read()
    finally:
        connection.close()
