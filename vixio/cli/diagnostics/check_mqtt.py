"""Tries what the section ``mqtt`` says: its ports, and the host that devices get."""

from __future__ import annotations

import asyncio
import socket
from urllib.parse import urlsplit

from vixio.cli.diagnostics.check_ports import health, taken
from vixio.core.errors import ConfigError
from vixio.settings import Settings
from vixio.transports.admission.port_errors import port_error

RESOLVE_TIMEOUT_S = 5.0


async def try_mqtt(settings: Settings) -> str:
    """Return where devices connect over MQTT. Raises ConfigError if that cannot work."""
    section, server = settings.mqtt, settings.server
    if section is None:
        return "off: devices come by WebSocket, and are reached while they are connected (mqtt)"
    own = [("mqtt.port", section.port)] if section.fronted else []
    for key, port in (*own, ("mqtt.udp_port", section.udp_port)):
        if (error := await taken(server.host, port, key, udp="udp" in key)) is not None:
            page = await asyncio.to_thread(health, server.host, server.http_port)
            if port not in page.get("ports", ()):
                raise await asyncio.to_thread(port_error, server.host, port, key, error)
    host = section.address or server.public_host or urlsplit(server.public_url).hostname or ""
    if host:
        await _resolve(host)
    at = host or "the address through which each comes"
    found = f"{section.devices} devices, at {at}: ports {section.port} and {section.udp_port} (UDP)"
    if section.broker is not None:
        from vixio.cli.diagnostics.check_broker import try_broker

        found += f"; {await try_broker(section.broker)}"
    return found


async def _resolve(host: str) -> None:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(RESOLVE_TIMEOUT_S):
            await loop.getaddrinfo(host, None, family=socket.AF_INET)
    except (OSError, TimeoutError) as error:
        raise ConfigError(
            f"{host!r} has no IPv4 address that this machine can find, and devices use no IPv6 for "
            "MQTT: set mqtt.address"
        ) from error
