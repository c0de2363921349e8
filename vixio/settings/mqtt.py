"""The section ``mqtt``: devices that are reached at any time, over MQTT and UDP."""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, SecretStr, model_validator

from vixio.core.text_forms import of_form
from vixio.providers.faults import fault
from vixio.settings.sections import MIN_SECRET_BYTES, Port, Section, ServerSettings
from vixio.tools.broker.login import TlsSettings

TLS_PORT: Final = 8_883
"""Devices speak TLS exactly at this port (esp_mqtt.cc, Connect)."""

_host = of_form(
    r"([A-Za-z0-9][A-Za-z0-9_.-]{0,252})?",
    "a host name or an IPv4 address alone, without a scheme and port: devices use no IPv6 here",
)


_url = of_form(
    r"mqtts?://([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?",
    "a URL such as mqtt://broker.example.org or mqtts://10.0.0.5:8883, without a login",
)


class BrokerSection(Section):
    """A broker that devices' messages go through. See docs/devices.md."""

    url: Annotated[str, AfterValidator(_url)]
    username: str = "vixio-server"
    password: SecretStr
    """Of the server, which reads ``vixio/up/`` and writes ``vixio/down/``."""
    front: bool = True
    """Whether devices come to ``mqtt.port`` of this server, which connects them to the broker. Else
    they come to the broker, which has to subscribe for them (EMQX)."""
    device_username: str = "vixio"
    device_password: SecretStr = SecretStr("")
    """Under which the front connects a device."""
    secret: SecretStr = SecretStr("")
    """With which a broker without a front asks for a device's password."""
    tls: TlsSettings = TlsSettings()

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.front and not self.device_password.get_secret_value():
            raise fault("the front connects devices to the broker with it", "device_password")
        if self.front and self.device_username == self.username:
            raise fault(
                "devices need a user of their own, which may do less than the server's",
                "device_username",
            )
        if not self.front and len(self.secret.get_secret_value().encode()) < MIN_SECRET_BYTES:
            raise fault(
                f"expected a secret of at least {MIN_SECRET_BYTES} bytes, such as "
                "`openssl rand -hex 32` prints: the broker states it when it asks for a password",
                "secret",
            )
        return self


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
    broker: BrokerSection | None = None
    """None: the server is the broker."""

    @model_validator(mode="after")
    def _spoken_as_devices_do(self) -> Self:
        if self.fronted and self.port == TLS_PORT and not self.public_port:
            raise fault(
                f"devices speak TLS at port {TLS_PORT}, the server does not: use another port "
                f"here, and public_port: {TLS_PORT} if a proxy in front ends TLS",
                "port",
            )
        if not self.fronted and not self.address:
            raise fault("devices need the broker's address, as they reach it", "address")
        return self

    @property
    def fronted(self) -> bool:
        """Whether devices come to a port of this server."""
        return self.broker is None or self.broker.front

    def takes(self, carrier: str) -> bool:
        """Return whether OTA sends a device of this ``carrier`` of its own here; empty: none."""
        return carrier == "mqtt" or (not carrier and self.devices == "all")

    def check_beside(self, server: ServerSettings, *, clustered: bool) -> None:
        """Raise ValidationError if the rest of the settings does not go with it."""
        if not self.fronted:
            if server.workers != 1 or clustered:
                raise fault(
                    "several workers or nodes need the front: a device belongs to the one it came "
                    "to, which a broker does not say",
                    *("mqtt", "broker", "front"),
                )
            return
        if server.workers != 1 and not self.port:
            raise fault("several workers need a port that is known: not 0", "mqtt", "port")
        for name in ("port", "http_port"):
            if self.port and self.port == getattr(server, name):
                raise fault(f"server.{name} is {self.port} too: change one of them", "mqtt", "port")
