"""The OTA answer: the addresses of WebSocket and MQTT, the time, and firmware that is offered.

Pure functions; the routes are in :mod:`vixio.web.http.routes.ota`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from vixio.core.errors import ConfigError
from vixio.core.wall_clock import now_s
from vixio.transports.admission.access import OPEN_DOOR, OtaDecision, OtaRequest
from vixio.transports.admission.firmware import Firmware
from vixio.transports.admission.forwarded import HOST
from vixio.transports.admission.identity import UP_TOPIC, Identity, user_name
from vixio.web.http.public_url import public_url

NONE_NEEDED = "open"
"""The token where none is checked. Clients exist that fail without the key (the SDK for xiaozhi on
PyPI); it has no space, so the firmware puts "Bearer " before it. It opens nothing anywhere."""

MQTT_KEEPALIVE_S = 120

UNKNOWN_FIRMWARE = "0.0.0"
"""Never newer than what a device runs (ota.cc, IsNewVersionAvailable)."""

_VERSION = re.compile(r"\d{1,9}(\.\d{1,9}){0,7}")

_BOARD = re.compile(r"([a-z0-9][a-z0-9._-]{0,63})/(\d{1,9}(?:\.\d{1,9}){1,7}\S{0,40})")
"""The firmware's User-Agent: a board of main/boards in lower case, and the firmware's version."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""A board's name, for the log."""

_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}(?![A-Za-z0-9-])")
"""A language (BCP 47), the first of Accept-Language."""

_LIBRARY = re.compile(
    r"http|curl|wget|urllib|requests|reqwest|websocket|"
    r"\b(aiohttp|axios|bun|dart|deno|faraday|go|got|guzzle|hyper|insomnia|java|libwww|mozilla|node|"
    r"perl|php|python|restsharp|ruby|superagent|undici|ureq)\b"
)
"""Names that HTTP libraries send as User-Agent on their own. Their version is not a firmware's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtaSettings:
    """Settings of the OTA answer.

    ``websocket_url`` is used as it is if given; otherwise the URL is made of the address through
    which the device came, ``websocket_port`` and ``websocket_path``. ``trust_forwarded``: believe
    X-Forwarded-* and Forwarded of every client; those of a trusted proxy are believed
    anyway. ``balanced`` returns the URL for the next device where several servers are one; empty:
    that of this server.
    ``public_url``: of the whole server, for pages that show one; empty: as for the WebSocket.
    ``zone``: the time zone that devices show, asked for each answer; None: that of the machine.
    ``mqtt_port``: of MQTT as devices reach it; None: there is none. ``mqtt_address``: its host name
    or IPv4 address; empty: the host of the WebSocket's URL. ``mqtt_elsewhere``: it is a broker's,
    not that of the audio.
    """

    websocket_port: int = 8000
    websocket_path: str = "/xiaozhi/v1/"
    websocket_url: str = ""
    public_url: str = ""
    balanced: Callable[[], str] = lambda: ""
    websocket_version: int = 1
    ota_path: str = "/xiaozhi/ota/"
    trust_forwarded: bool = False
    zone: Callable[[], ZoneInfo | None] = lambda: None
    mqtt_port: Callable[[], int] | None = None
    mqtt_address: str = ""
    mqtt_elsewhere: bool = False

    def __post_init__(self) -> None:
        if self.websocket_version not in (1, 2, 3):
            raise ConfigError("websocket_version must be 1, 2 or 3")
        if not self.ota_path.startswith("/") or not self.websocket_path.startswith("/"):
            raise ConfigError("ota_path and websocket_path must begin with /")


def websocket_url(
    settings: OtaSettings,
    headers: Mapping[str, str],
    own_host: str,
    *,
    trust_forwarded: bool | None = None,
) -> str:
    """Return the WebSocket's URL for the device that sent ``headers`` (names in lower case).

    ``trust_forwarded``: of this request; None for what the settings say.
    ``own_host`` is the server's address of this connection, for a request without a usable Host.
    """
    if url := settings.balanced() or settings.websocket_url:
        return url
    return public_url(
        headers,
        own_host,
        schemes=("ws", "wss"),
        port=settings.websocket_port,
        path=settings.websocket_path,
        trust_forwarded=settings.trust_forwarded if trust_forwarded is None else trust_forwarded,
    )


def device_version(body: bytes, user_agent: str) -> str:
    """Return the firmware version that a device states, in digits and dots.

    It stands in the body's ``application.version``, else behind the board's name in User-Agent
    (``BOARD/VERSION``, system_info.cc, GetUserAgent). Anything else could end the device: it reads
    each part with std::stoi, which throws (ota.cc, ParseVersion).
    """
    return stated_firmware(body, user_agent).version or UNKNOWN_FIRMWARE


def stated_firmware(body: bytes, user_agent: str) -> Firmware:
    """Return the board and the version that a device states; empty what it does not state.

    The board stands in front of the version in User-Agent, else in the body's ``board.type``.
    """
    return _firmware(_document(body), user_agent)


def read_ota_request(
    identity: Identity, headers: Mapping[str, str], body: bytes, address: str
) -> OtaRequest:
    """Return what a device says of itself at OTA (ota.cc, SetupHttp; board.cc,
    GetSystemInfoJson). Whatever is not a name or a version counts as unsaid."""
    document = _document(body)
    firmware = _firmware(document, headers.get("user-agent", ""))
    chip, serial = _text(document, "chip_model_name"), headers.get("serial-number", "")
    tag = _TAG.match(headers.get("accept-language", "") or _text(document, "language"))
    return OtaRequest(
        device_id=identity.device_id,
        client_id=identity.client_id,
        address=address,
        board=firmware.board,
        chip=chip if _NAME.fullmatch(chip) else "",
        firmware=firmware.version,
        serial=serial if _NAME.fullmatch(serial) else "",
        language=tag[0] if tag else "",
        rssi=_rssi(document),
    )


def _document(body: bytes) -> Any:  # noqa: ANN401  any JSON value
    with suppress(ValueError, RecursionError):  # every field is optional, so is the body
        return json.loads(body)
    return None


def _firmware(document: Any, user_agent: str) -> Firmware:  # noqa: ANN401  any JSON value
    agent = _BOARD.fullmatch(user_agent.strip())
    if agent is not None and _LIBRARY.search(agent[1]):
        agent = None
    board = agent[1] if agent else _text(document, "board", "type")
    version = _text(document, "application", "version") or (agent[2] if agent else "")
    match = _VERSION.match(version)
    return Firmware(board if _NAME.fullmatch(board) else "", match[0] if match else "")


def _rssi(document: Any) -> int | None:  # noqa: ANN401  any JSON value
    """Return the signal's strength that the body's ``board`` states (wifi_board.cc, GetBoardJson):
    below 0 dBm; None for anything else."""
    board = document.get("board") if isinstance(document, dict) else None
    rssi = board.get("rssi") if isinstance(board, dict) else None
    return rssi if isinstance(rssi, int) and -128 <= rssi < 0 else None


def _text(document: Any, *keys: str) -> str:  # noqa: ANN401  any JSON value
    """Return the string at a place in a document; empty if there is none."""
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document if isinstance(document, str) else ""


def utc_offset(zone: ZoneInfo | None, at: datetime) -> int:
    """Return the offset of ``zone`` from UTC at ``at``, in minutes east, with daylight saving time.

    ``zone`` None: that of the machine. ``at`` is an aware datetime.
    """
    offset = at.astimezone(zone).utcoffset()
    return round(offset.total_seconds() / 60) if offset is not None else 0


def ota_answer(
    settings: OtaSettings,
    headers: Mapping[str, str],
    body: bytes,
    own_host: str,
    *,
    trust_forwarded: bool | None = None,
    decision: OtaDecision = OPEN_DOOR,
    firmware: Mapping[str, Any] | None = None,
    identity: Identity | None = None,
) -> dict[str, Any]:
    """Return what a device needs to connect, or what it has to wait for.

    ``headers`` and the rest are those of :func:`websocket_url`. ``firmware``: the section for a
    device that is offered an image. ``identity``: of the device; None: not stated.

    No field is null: the firmware stores every string and number of ``websocket`` and ``mqtt`` as
    it comes (ota.cc, CheckVersion). It prefers ``mqtt``, which is left out for a device that is to
    come, or to come back, by WebSocket. A device that is not admitted gets ``activation``: it shows
    the message, reads the digits of the code aloud, which may be none, and stays in that loop,
    whatever else it got. With a code it gets the rest as well: clients exist that ask once, and
    connect with what they have after the claim (py-xiaozhi). The firmware adds
    ``timezone_offset``, in minutes, to ``timestamp`` and sets its clock by the sum (the same
    function), once at each start: it knows no time zone of its own.
    """
    now = now_s()
    offset = utc_offset(settings.zone(), datetime.fromtimestamp(now, UTC))
    answer: dict[str, Any] = {
        "server_time": {"timestamp": round(now * 1000), "timezone_offset": offset},
        # Without an offer the device's own version and no URL: there is nothing to install.
        "firmware": firmware
        or {"version": device_version(body, headers.get("user-agent", "")), "url": ""},
    }
    if not decision.admitted:
        answer["activation"] = {"code": decision.code, "message": decision.message}
        if decision.challenge:
            answer["activation"]["challenge"] = decision.challenge
        if not decision.token:
            return answer
    answer["websocket"] = {
        "url": websocket_url(settings, headers, own_host, trust_forwarded=trust_forwarded),
        # Only version 2 has timestamps (websocket_protocol.cc, SendAudio).
        "version": 2 if decision.server_aec else settings.websocket_version,
        "token": decision.token or NONE_NEEDED,
    }
    if decision.mqtt and identity is not None and settings.mqtt_port is not None:
        own = _host(answer["websocket"]["url"])
        host = settings.mqtt_address or own
        audio = own if settings.mqtt_elsewhere else host
        if audio and identity.client_id and not set("+#") & set(identity.device_id):
            answer["mqtt"] = {
                "endpoint": f"{host}:{settings.mqtt_port()}",
                "client_id": identity.device_id,
                "username": user_name(identity.client_id, audio),
                "password": answer["websocket"]["token"],
                "keepalive": MQTT_KEEPALIVE_S,
                "publish_topic": f"{UP_TOPIC}{identity.device_id}",
                # The firmware never subscribes; "null" keeps other clients from it (py-xiaozhi).
                "subscribe_topic": "null",
            }
    return answer


def _host(url: str) -> str:
    """Return the host of a WebSocket's URL, as MQTT's endpoint may have it; empty for an IPv6
    address, which the firmware would cut at its first colon (mqtt_protocol.cc, StartMqttClient)."""
    match = HOST.match(url.partition("://")[2])
    return match["name"] if match is not None and not match["name"].startswith("[") else ""
