"""Options of the source type ``broker``."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, SecretStr, model_validator

from vixio.core.errors import ConfigError
from vixio.core.text_forms import of_form
from vixio.tools.source_settings import Retries, Seconds, SourceSettings

_prefix = of_form(
    r"[A-Za-z0-9_-]+([.][A-Za-z0-9_-]+)*",
    "words of letters and digits, joined by dots and without wildcards, such as vixio.tools",
)
Prefix = Annotated[str, Field(max_length=100), AfterValidator(_prefix)]


class TlsSettings(SourceSettings):
    """Files in PEM format. The scheme of the URL decides whether TLS is used."""

    ca: str = ""
    """Trusted authorities; empty: those of the system."""
    cert: str = ""
    """The client's own certificate, where the broker asks for one."""
    key: str = ""


class BrokerSettings(SourceSettings):
    """A broker, how to log in to it, and the services and tools on it."""

    url: SecretStr
    """``nats://``, ``tls://``, ``amqp://``, ``amqps://``, ``pulsar://``, ``pulsar+ssl://`` and a
    host, or ``memory://NAME``."""
    user: str = ""
    password: SecretStr = SecretStr("")
    token: SecretStr = SecretStr("")
    """NATS and Pulsar."""
    credentials: str = ""
    """Path of a NATS credentials file."""
    tls: TlsSettings = TlsSettings()
    services: tuple[dict[str, Any], ...] = ()
    """The upper level of the description; a mistake costs the service's tools only."""
    tools: tuple[dict[str, Any], ...] = ()
    """The lower level; a mistake costs that tool only."""
    folder: str = ""
    """JSON and YAML files with services and tools; relative to the working directory."""
    announcements: bool = True
    """Use the tools of services that announce themselves."""
    prefix: Prefix = "vixio.tools"
    """The first part of the queues for announcements."""
    timeout: Seconds = 30.0
    """For one call, unless the tool has its own."""
    idle_timeout: Seconds = 15.0
    """Without a sign of life from a service that gives them."""
    retries: Retries = 1
    """Of idempotent tools."""
    enabled: bool = True

    @model_validator(mode="after")
    def _address(self) -> Self:
        from vixio.tools.broker.factory import address_of

        try:
            address_of(self)
        except ConfigError as error:
            raise ValueError(str(error)) from None
        return self
