"""Where a broker is and how to log in to it: the fields that settings of a broker begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from pydantic import BaseModel, ConfigDict, SecretStr, model_validator

from vixio.core.errors import ConfigError

if TYPE_CHECKING:
    from vixio.bus.address import BrokerAddress


class TlsSettings(BaseModel):
    """Files in PEM format. The scheme of the URL decides whether TLS is used."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ca: str = ""
    """Trusted authorities; empty: those of the system."""
    cert: str = ""
    """The client's own certificate, where the broker asks for one."""
    key: str = ""


class BrokerLogin(BaseModel):
    """A broker, and how to log in to it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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

    @property
    def address(self) -> BrokerAddress:
        """The broker. Raises ConfigError that shows no secret."""
        from vixio.bus.address import TlsFiles, parse_address

        return parse_address(
            self.url.get_secret_value(),
            user=self.user,
            password=self.password.get_secret_value(),
            token=self.token.get_secret_value(),
            credentials=self.credentials,
            tls=TlsFiles(self.tls.ca, self.tls.cert, self.tls.key),
        )

    @model_validator(mode="after")
    def _has_an_address(self) -> Self:
        try:
            _ = self.address
        except ConfigError as error:
            raise ValueError(str(error)) from None
        return self
