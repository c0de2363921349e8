"""The section ``cluster``: the other nodes of this server."""

from __future__ import annotations

from typing import Annotated, Final, Self

from pydantic import AfterValidator, Field, SecretStr, field_validator, model_validator

from vixio.core.text_forms import of_form
from vixio.settings.sections import MIN_SECRET_BYTES, Section
from vixio.tools.broker.login import BrokerLogin

_SCHEMES: Final = ("nats", "tls", "ws", "wss")

_websocket = of_form(r"(wss?://[^\s/@?#]+/\S*)?", "a URL such as ws://10.0.0.11:8000/xiaozhi/v1/")
_name = of_form(r"[A-Za-z0-9_-]{0,40}", "at most 40 letters, digits, - and _, such as vixio-1")


class ClusterSection(BrokerLogin, Section):
    """Nodes that are one server, on any number of machines, joined by NATS: docs/operations.md."""

    secret: SecretStr
    """The same for all nodes, at least 16 bytes: a node with another one may not join. It also
    signs the links that devices get, since any node may be asked for them."""
    node: Annotated[str, AfterValidator(_name)] = ""
    """The name of this node in logs, metrics and the health page; empty: that of the machine."""
    reached_at: str = ""
    """Where the other nodes reach this machine, for A2A; empty: its address towards the broker."""
    websocket_url: Annotated[str, AfterValidator(_websocket)] = ""
    """Where devices reach this node alone: OTA of every node then sends each device to the node
    with the fewest, and no balancer is needed. Empty: to the address through which it came."""
    replicas: int = Field(default=1, ge=1, le=5)
    """Servers of NATS that keep who serves which device: 1, or 3 where NATS is a cluster."""

    @field_validator("url")
    @classmethod
    def _a_nats_server(cls, value: SecretStr) -> SecretStr:
        if value.get_secret_value().partition("://")[0] not in _SCHEMES:
            raise ValueError(
                "expected the URL of a NATS server, such as nats://nats.example.org or "
                "tls://a.example.org,b.example.org"
            )
        return value

    @model_validator(mode="after")
    def _long_enough(self) -> Self:
        if len(self.secret.get_secret_value().encode()) < MIN_SECRET_BYTES:
            raise ValueError(
                f"expected a secret of at least {MIN_SECRET_BYTES} bytes, such as "
                "`openssl rand -hex 32` prints, the same for all nodes"
            )
        return self
