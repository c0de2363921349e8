"""The device's OTA requests: its configuration, its activation, the firmware on offer.

Follows main/ota.cc (SetupHttp, CheckVersion, Activate, GetActivationPayload, ParseVersion).
`boot.Boot` decides when they are made.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from dataclasses import dataclass, field
from typing import Any, Final, TypeGuard

from firmware_test_client.chips import APP_AT, APP_BYTES, CHIPS
from firmware_test_client.config import DeviceConfig
from firmware_test_client.errors import OtaError
from firmware_test_client.flash import App
from firmware_test_client.mcp.properties import value_as_int
from firmware_test_client.web import RequestError, post

_INVALID_RESPONSE: Final = 0x108  # ESP_ERR_INVALID_RESPONSE
_NO_ANSWER: Final = -1  # HttpClient::GetStatusCode without an answer
_STOI: Final = re.compile(r"\s*[+-]?\d+", re.ASCII)  # what std::stoi reads; it ignores the rest


class CheckFailed(OtaError):
    """A failed OTA request, after which the firmware tries again. It shows `code`."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Activation:
    """A request to be activated; the device shows the message and reads the code aloud."""

    code: str | None = None
    message: str = ""
    challenge: str | None = None
    timeout_ms: int | None = None


@dataclass(slots=True)
class OtaAnswer:
    """The endpoint's answer as the firmware reads it.

    `websocket_url`, `token` and `version` are what the device has stored after this answer.
    """

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


def running_app(config: DeviceConfig) -> App:
    """The firmware that runs (esp_app_get_description)."""
    if config.flash.app is not None:
        return config.flash.app
    version = config.firmware_version
    digest = hashlib.sha256(version.encode()).hexdigest()
    return App(version, "xiaozhi", "Aug  1 2026", "00:00:00", "v5.5.1", digest)


def system_info(config: DeviceConfig) -> dict[str, Any]:
    """Board::GetSystemInfoJson in main/boards/common/board.cc."""
    app = running_app(config)
    return {
        "version": 2,
        "language": config.language,
        "flash_size": 16777216,
        "minimum_free_heap_size": "8457848",
        "mac_address": config.device_id,
        "uuid": config.client_id,
        "chip_model_name": config.chip,
        "chip_info": {
            "model": CHIPS[config.chip].model,
            "cores": 2,
            "revision": 2,
            "features": 18,
        },
        "application": {
            "name": app.project,
            "version": app.version,
            "compile_time": f"{app.date}T{app.time}Z",
            "idf_version": app.idf_version,
            "elf_sha256": app.elf_sha256,
        },
        "partition_table": [
            {"label": label, "type": 0, "subtype": 16 + index, "address": at, "size": APP_BYTES}
            for index, (label, at) in enumerate(APP_AT.items())
        ],
        "ota": {"label": config.flash.slot},
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
        "User-Agent": f"{config.board}/{running_app(config).version}",
        "Accept-Language": config.language,
        "Content-Type": "application/json",
    }
    if config.serial_number is not None:
        headers["Serial-Number"] = config.serial_number
    return headers


def is_newer(current: str, offered: str) -> bool:
    """Ota::IsNewVersionAvailable.

    Raises:
        OtaError: a part does not begin with a number; std::stoi then throws and the firmware
            restarts.
    """
    have, new = _version_parts(current), _version_parts(offered)
    for mine, theirs in zip(have, new, strict=False):
        if mine != theirs:
            return theirs > mine
    return len(new) > len(have)


def _version_parts(version: str) -> list[int]:
    """Ota::ParseVersion: a dot at the end adds no part, `1rc` counts as 1."""
    parts = [_STOI.match(part) for part in version.removesuffix(".").split(".")] if version else []
    numbers = [int(part.group()) for part in parts if part is not None]
    if len(numbers) < len(parts):
        raise OtaError(f"boot aborted: version {version!r} is not made of numbers and dots")
    return numbers


def activation_payload(config: DeviceConfig, challenge: str) -> str:
    """Ota::GetActivationPayload."""
    if config.serial_number is None:
        return "{}"
    digest = hmac.new(config.hmac_key, challenge.encode(), hashlib.sha256).hexdigest()
    body: dict[str, Any] = {
        "algorithm": "hmac-sha256",
        "serial_number": config.serial_number,
        "challenge": challenge,
        "hmac": digest,
    }
    return json.dumps({"Payload": body} if config.client == "py-xiaozhi" else body)


class Ota:
    """The requests of one boot.

    Attributes:
        answer: the newest usable answer.
        has_mqtt, has_websocket: whether that answer had these sections.
    """

    def __init__(self, config: DeviceConfig) -> None:
        self._config = config
        self._url = config.ota_url or ""
        self._message = ""
        self._tries: list[int] = []
        self.answer: OtaAnswer | None = None
        self.has_mqtt = False
        self.has_websocket = False

    async def check_version(self) -> OtaAnswer:
        """Ota::CheckVersion.

        Raises:
            CheckFailed: unreachable, a status other than 200, or no JSON object.
            OtaError: the firmware aborts: a setting is too long, a version is no number.
        """
        config, url = self._config, self._url
        body = json.dumps(system_info(config))
        try:
            raw = await post(url, request_headers(config), body, timeout=config.http_timeout)
        except RequestError as error:
            raise CheckFailed(str(error), _NO_ANSWER) from error
        if raw.status != 200:
            raise CheckFailed(f"{url} answered HTTP {raw.status}", raw.status)
        try:
            parsed = json.loads(raw.body)
        except (ValueError, RecursionError) as error:
            raise CheckFailed(f"{url} answered with invalid JSON", _INVALID_RESPONSE) from error
        if not isinstance(parsed, dict):
            text = f"{url} answered with JSON that is not an object"
            raise CheckFailed(text, _INVALID_RESPONSE)
        self.answer = answer = OtaAnswer(raw.status, raw.headers, parsed)
        answer.activation_tries = self._tries
        self._read(answer)
        return answer

    def _read(self, answer: OtaAnswer) -> None:
        """The sections in the firmware's order: what precedes one that aborts has its effect."""
        nvs = self._config.flash.nvs
        activation, mqtt, websocket, server_time, firmware = (
            _section(answer.body, key)
            for key in ("activation", "mqtt", "websocket", "server_time", "firmware")
        )
        if activation is not None:
            answer.activation = self._read_activation(activation)
        answer.mqtt, self.has_mqtt = mqtt, mqtt is not None
        nvs.store("mqtt", mqtt or {})
        self.has_websocket = websocket is not None
        nvs.store("websocket", websocket or {})
        answer.websocket_url = nvs.string("websocket", "url")
        answer.token = nvs.string("websocket", "token")
        answer.version = nvs.integer("websocket", "version")
        if server_time is not None and _is_number(server_time.get("timestamp")):
            offset = server_time.get("timezone_offset")
            minutes = value_as_int(offset) if _is_number(offset) else 0
            answer.server_time = server_time["timestamp"] / 1000 + minutes * 60
        if firmware is not None:
            self._read_firmware(answer, firmware)

    def _read_activation(self, section: dict[str, Any]) -> Activation | None:
        """None if there is neither code nor challenge: then the firmware does nothing about it.

        A message stays from one answer to the next.
        """
        code, challenge, message, timeout = (
            section.get(key) for key in ("code", "challenge", "message", "timeout_ms")
        )
        if isinstance(message, str):
            self._message = message
        if not isinstance(code, str) and not isinstance(challenge, str):
            return None
        return Activation(
            code if isinstance(code, str) else None,
            self._message,
            challenge if isinstance(challenge, str) else None,
            value_as_int(timeout) if _is_number(timeout) else None,
        )

    def _read_firmware(self, answer: OtaAnswer, section: dict[str, Any]) -> None:
        version, link, force = (section.get(key) for key in ("version", "url", "force"))
        if isinstance(version, str) and isinstance(link, str):
            answer.firmware_version, answer.firmware_url = version, link
            newer = is_newer(running_app(self._config).version, version)
            answer.upgrade = newer or (_is_number(force) and value_as_int(force) == 1)

    async def activate(self, activation: Activation) -> int | None:
        """Ota::Activate: the HTTP status, or None if nothing was sent or answered."""
        config = self._config
        if activation.challenge is None:
            return None
        url = self._url + ("activate" if self._url.endswith("/") else "/activate")
        headers = request_headers(config)
        payload = activation_payload(config, activation.challenge)
        try:
            answer = await post(url, headers, payload, timeout=config.http_timeout)
        except RequestError:
            return None
        self._tries.append(answer.status)
        return answer.status


def _section(body: dict[str, Any], key: str) -> dict[str, Any] | None:
    value = body.get(key)
    return value if isinstance(value, dict) else None


def _is_number(value: object) -> TypeGuard[int | float]:
    """cJSON_IsNumber."""
    return isinstance(value, int | float) and not isinstance(value, bool)
