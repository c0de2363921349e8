"""The section ``mqtt``: devices that are reached at any time, over MQTT and UDP."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, model_validator

from vixio.core.text_forms import of_form
from vixio.providers.faults import fault
from vixio.settings.sections import Port, Section, ServerSettings

TLS_PORT: Final = 8_883
"""Devices speak TLS exactly at this port (esp_mqtt.cc, Connect)."""

_host = of_form(
    r"([A-Za-z0-9][A-Za-z0-9_.-]{0,252})?",
    "a host name or an IPv4 address alone, without a scheme and port: devices use no IPv6 here",
)


class MqttSection(Section):
    """Where devices connect over MQTT, and which do. See docs/devices.md."""

    port: Port = 1_883
    """0: any free port, as for ``udp_port``."""
    udp_port: Port = 8_884
    """Of the audio; with several workers that of the first, and one more for each of the others."""
    address: Annotated[str, AfterValidator(_host)] = ""
    """Of both ports, for devices; empty: the address through which they reached OTA."""
    udp_address: Annotated[str, AfterValidator(_host)] = ""
    """Where devices reach the audio of this node alone, where a balancer stands before MQTT; empty:
    the address that they use for MQTT."""
    public_port: Port = 0
    """The port that devices get instead of ``port``, where a proxy in front ends TLS."""
    devices: Literal["all", "chosen"] = "all"
    """Which devices OTA sends here: ``chosen`` are those that were switched to it one by one."""

    @model_validator(mode="after")
    def _spoken_as_devices_do(self) -> Self:
        if self.port == TLS_PORT and not self.public_port:
            raise fault(
                f"devices speak TLS at port {TLS_PORT}, the server does not: use another port "
                f"here, and public_port: {TLS_PORT} if a proxy in front ends TLS",
                "port",
            )
        return self

    def takes(self, carrier: str) -> bool:
        """Return whether OTA sends a device of this ``carrier`` of its own here; empty: none."""
        return carrier == "mqtt" or (not carrier and self.devices == "all")

    def check_beside(self, server: ServerSettings) -> None:
        """Raise ValidationError if the rest of the settings does not go with it."""
        if server.workers != 1 and not self.port:
            raise fault("several workers need a port that is known: not 0", "mqtt", "port")
        for name in ("port", "http_port"):
            if self.port and self.port == getattr(server, name):
                raise fault(f"server.{name} is {self.port} too: change one of them", "mqtt", "port")
