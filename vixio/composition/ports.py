"""What the transports and the HTTP server get of the settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from vixio.core.device import ACCESS_PREFIX
from vixio.core.greetings import WakeGreetings
from vixio.settings import Settings
from vixio.settings.sections import ServerSettings, fill
from vixio.transports.admission.access import Access
from vixio.transports.admission.admission import Admission, AdmissionSettings
from vixio.transports.admission.limits import Limits
from vixio.transports.xiaozhi.settings import XiaozhiSettings
from vixio.transports.xiaozhi.wake_words import DEFAULT_WAKE_WORDS
from vixio.web.access.points import AccessPoints
from vixio.web.http.ota import OtaSettings
from vixio.web.http.public_url import HttpAddress
from vixio.web.http.vision_service import VisionService

if TYPE_CHECKING:
    from starlette.routing import Route

    from vixio.bus.address import BrokerAddress
    from vixio.core.host import SessionHost
    from vixio.core.tools.runtime import ToolRuntime
    from vixio.data.devices.registry import DeviceRegistry
    from vixio.settings.mqtt import BrokerSection
    from vixio.transports.xiaozhi.transport import XiaozhiTransport


def admission_settings(settings: Settings, access: Access) -> AdmissionSettings:
    """Return which devices are admitted. Raises ConfigError."""
    server = settings.server
    return AdmissionSettings(
        access=access,
        max_connections=server.max_connections,
        limits=fill(Limits, server.limits),
        trusted_proxies=server.trusted_proxies,
    )


def xiaozhi_settings(
    settings: Settings,
    vision: VisionService | None,
    http_port: Callable[[], int] | None,
    *,
    share_port: bool,
) -> XiaozhiSettings:
    """Return the settings of the xiaozhi transport. ``vision`` takes photos of cameras."""
    server = settings.server
    return XiaozhiSettings(
        host=settings.server.host,
        port=settings.server.port,
        share_port=share_port,
        allowed_origins=settings.server.allowed_origins,
        hosts=own_names(settings),
        output_sample_rate=settings.output.sample_rate,
        output_frame_ms=settings.output.frame_ms,
        opus_application=settings.output.opus_application,
        opus_complexity=settings.output.opus_complexity,
        opus_bitrate=settings.output.opus_bitrate,
        wake_words=(*DEFAULT_WAKE_WORDS, *wake_words(settings)),
        timeouts=settings.time_limits(),
        vision=vision.offer.for_session if vision is not None else None,
        http_address=HttpAddress(http_port, server.public_host, server.public_url)
        if http_port is not None
        else None,
    )


def make_access(
    tools: ToolRuntime, registry: DeviceRegistry, admission: Admission, host: SessionHost
) -> AccessPoints:
    """Return the access points of users' own tool servers."""
    points = AccessPoints(tools, registry.known, registry.catch_up, admission)
    registry.on_access = points.look_again
    host.commands.serve_keys(ACCESS_PREFIX, points.answer)
    return points


def make_mqtt(
    settings: Settings, wire: XiaozhiSettings, admission: Admission, worker: int
) -> XiaozhiTransport | None:
    """Return the transport; None without the section ``mqtt``. ``wire``: as of the WebSocket.

    ``worker``: the number of this process among those of the server, 0 for a single one. Each has
    a UDP port of its own: a device's audio belongs to the process that answered its hello.
    """
    if settings.mqtt is None:
        return None
    from vixio.transports.xiaozhi.mqtt.carrier import MqttCarrier, MqttSettings
    from vixio.transports.xiaozhi.transport import XiaozhiTransport

    mqtt, broker = settings.mqtt, settings.mqtt.broker
    ports = MqttSettings(
        host=wire.host,
        port=mqtt.port,
        udp_port=mqtt.udp_port + max(0, worker - 1) if mqtt.udp_port else 0,
        udp_address=mqtt.udp_address,
        share_port=wire.share_port,
        broker=broker_address(broker) if broker is not None else None,
        device_login=(broker.device_username, broker.device_password.get_secret_value())
        if broker is not None and broker.front
        else None,
    )
    return XiaozhiTransport(wire, admission, MqttCarrier(ports, admission))


def broker_routes(settings: Settings, mqtt: XiaozhiTransport | None) -> Sequence[Route]:
    """Return the route at which a broker asks whether a device may connect to it, if one does."""
    broker = settings.mqtt.broker if settings.mqtt is not None else None
    if mqtt is None or broker is None or broker.front:
        return ()
    from vixio.transports.xiaozhi.mqtt.carrier import MqttCarrier
    from vixio.web.http.routes.mqtt import mqtt_routes

    assert isinstance(mqtt.carrier, MqttCarrier)  # noqa: S101  make_mqtt has made it
    secret = broker.secret.get_secret_value()
    return mqtt_routes(mqtt.carrier.may_connect, secret, mqtt.admission.counters)


def broker_address(broker: BrokerSection) -> BrokerAddress:
    """Return where the broker of devices is, with the server's login."""
    from vixio.bus.address import BrokerAddress, TlsFiles
    from vixio.transports.xiaozhi.mqtt.broker import PORTS

    place = urlsplit(broker.url)
    host = f"[{place.hostname}]" if ":" in str(place.hostname) else place.hostname
    return BrokerAddress(
        place.scheme,
        (f"{host}:{place.port or PORTS[place.scheme]}",),
        user=broker.username,
        password=broker.password.get_secret_value(),
        tls=TlsFiles(broker.tls.ca, broker.tls.cert, broker.tls.key),
    )


def own_names(settings: Settings) -> tuple[str, ...]:
    """Return the names of the server that the settings name, under which browsers may call it."""
    server = settings.server
    public = urlsplit(server.public_url).hostname or ""
    return (server.public_host, f"[{public}]" if ":" in public else public, *settings.api.hosts)


def wake_words(settings: Settings) -> tuple[str, ...]:
    """Return the wake words of all devices that settings name, also by a reply of their own.

    Those that only a device's profile names are known to its session.
    """
    named = WakeGreetings.of(settings.assistant.wake_reply).wake_words
    return (*settings.assistant.wake_words, *named)


def ota_settings(
    settings: Callable[[], Settings],
    port: int,
    balanced: Callable[[], str],
    mqtt_port: Callable[[], int] | None = None,
) -> OtaSettings:
    """Return the settings of the OTA answer for a WebSocket on ``port``.

    ``settings`` returns those in effect: a reload can change the time zone. ``balanced``: the URL
    for the next device, if it is not that of this server. ``mqtt_port``: of the MQTT listener,
    once it listens; None: there is none.
    """

    def zone() -> ZoneInfo | None:
        name = settings().assistant.time_zone
        return ZoneInfo(name) if name else None

    server, mqtt = settings().server, settings().mqtt
    public_port = mqtt.public_port if mqtt is not None else 0
    return OtaSettings(
        websocket_port=port,
        websocket_url=websocket_url(server, port),
        public_url=server.public_url,
        balanced=balanced,
        zone=zone,
        mqtt_port=(lambda: public_port) if mqtt_port and public_port else mqtt_port,
        mqtt_address=mqtt.address if mqtt is not None else "",
        mqtt_elsewhere=mqtt is not None and not mqtt.fronted,
    )


def websocket_url(server: ServerSettings, port: int) -> str:
    """Return the URL that OTA returns to devices; empty: one on the address they came through."""
    if server.public_url:  # http becomes ws, https wss
        return f"ws{server.public_url.removeprefix('http')}/xiaozhi/v1/"
    if not server.public_host:
        return ""
    host = f"[{server.public_host}]" if ":" in server.public_host else server.public_host
    return f"ws://{host}:{port}/xiaozhi/v1/"
