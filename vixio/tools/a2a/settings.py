"""Options of the source type ``a2a``, and an entry of ``tools.a2a``."""

from __future__ import annotations

import re
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from vixio.tools.a2a.config import Stream
from vixio.tools.source_settings import (
    Headers,
    Pattern,
    Seconds,
    SourceName,
    SourceSettings,
    check_name,
)

LATER_S = 10.0

_NAME_CHARS = 64
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")


class A2aSettings(SourceSettings):
    """Options of the type ``a2a``: a remote agent whose skills become tools."""

    url: str = Field(min_length=1, max_length=2_000)
    """Of the agent; the card is read at ``/.well-known/agent-card.json`` below it. A URL that ends
    in ``.json`` is the card's own."""
    token: SecretStr | None = None
    """Sent as a bearer token."""
    headers: Headers = Field(default_factory=dict)
    allow: tuple[Pattern, ...] = ()
    """Patterns of the agent's skill ids; empty: all."""
    deny: tuple[Pattern, ...] = ()
    confirm: bool = False
    """Ask the user before each call."""
    stream: Stream = "say"
    """Speak the agent's words as they come, or give the model the whole answer."""
    connect_timeout: Seconds = 10.0
    """For reading the card."""
    timeout: Seconds = 30.0
    """For one call in its turn."""
    later: Annotated[float, Field(ge=0, le=3_600, allow_inf_nan=False)] = LATER_S
    """Seconds without a word after which the turn goes on and the answer comes later; true: 10;
    false or 0: never."""
    allow_private: bool = False
    refresh: float = Field(default=60.0, ge=0, le=86_400, allow_inf_nan=False)
    """Seconds between readings of the card; 0: none."""

    @field_validator("url")
    @classmethod
    def _reachable(cls, value: str) -> str:
        parts = urlsplit(value)
        try:
            valid = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
        except ValueError:
            valid = False
        if not valid:
            raise ValueError("expected url to begin with http:// or https:// and a host")
        if parts.username or parts.password:
            raise ValueError("expected url without a user or password; set token or headers")
        return value

    @field_validator("token")
    @classmethod
    def _sendable(cls, value: SecretStr | None) -> SecretStr | None:
        token = value.get_secret_value() if value is not None else ""
        if not (token.isascii() and token.isprintable()):
            raise ValueError("expected token of ASCII characters without line breaks")
        return value

    @field_validator("later", mode="before")
    @classmethod
    def _switch(cls, value: Any) -> Any:  # noqa: ANN401 - what stands in the file
        if isinstance(value, bool):
            return LATER_S if value else 0.0
        return value

    @model_validator(mode="after")
    def _one_token(self) -> Self:
        if self.token is not None and any(name.lower() == "authorization" for name in self.headers):
            raise ValueError("expected either token or a header Authorization")
        return self


class A2aAgentSettings(A2aSettings):
    """An entry of ``tools.a2a``."""

    name: SourceName | None = None
    """In patterns, counters and in front of colliding tool names; unset: the host of the URL."""
    enabled: bool = True

    @model_validator(mode="after")
    def _own_name(self) -> Self:
        check_name(self.source_name())  # a host may be called device
        return self

    def source_name(self) -> str:
        """Return the name, made of the host and port where it is unset."""
        if self.name is not None:
            return self.name
        parts = urlsplit(self.url)
        place = parts.hostname or ""
        if parts.port is not None:
            place = f"{place}-{parts.port}"
        return _UNSAFE.sub("-", place).strip("-.")[:_NAME_CHARS] or "agent"
