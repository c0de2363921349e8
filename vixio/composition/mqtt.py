"""Makes the transport of devices that are always connected, if the settings ask for it."""

from __future__ import annotations

from vixio.settings import Settings
from vixio.transports.admission.admission import Admission
from vixio.transports.xiaozhi.settings import XiaozhiSettings
from vixio.transports.xiaozhi.transport import XiaozhiTransport


def make_mqtt(
    settings: Settings, wire: XiaozhiSettings, admission: Admission
) -> XiaozhiTransport | None:
    """Return the transport; None without the section ``mqtt``. ``wire``: as of the WebSocket."""
    if settings.mqtt is None:
        return None
    from vixio.transports.xiaozhi.mqtt.carrier import MqttCarrier, MqttSettings

    ports = MqttSettings(
        host=settings.server.host, port=settings.mqtt.port, udp_port=settings.mqtt.udp_port
    )
    return XiaozhiTransport(wire, admission, MqttCarrier(ports, admission))
