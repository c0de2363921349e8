"""Options of the source type ``mcp``, in the form that desktop clients use."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, field_validator, model_validator

from vixio.tools.source_settings import (
    RESERVED,
    Pattern,
    Retries,
    Seconds,
    SourceSettings,
    check_name,
)

TAKEN = RESERVED | {"local", "builtin", "media", "ready", "broker", "openapi", "rest"}
"""Names that a server cannot have, because other sources have them by default."""

_TRANSPORTS = {
    "http": "streamable_http",
    "streamable-http": "streamable_http",
    "streamableHttp": "streamable_http",
}
"""Other spellings of the field."""


def _server_name(value: str) -> str:
    return check_name(value, TAKEN)


ServerName = Annotated[str, AfterValidator(_server_name)]


class McpServerSettings(SourceSettings):
    """One server: ``command`` starts it as a child process, ``url`` connects to a running one."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, SecretStr] = Field(default_factory=dict)
    """Added to PATH, HOME, USER, SHELL and TERM; the child inherits nothing else."""
    cwd: str = ""
    url: str = ""
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    transport: Literal["stdio", "sse", "streamable_http"] | None = None
    """Unset: stdio with a command; sse for a URL that ends in /sse; else streamable_http."""
    enabled: bool = True
    allow: tuple[Pattern, ...] = ()
    """Patterns of the server's tools; empty: all."""
    deny: tuple[Pattern, ...] = ()
    confirm: Literal["destructive", "always", "never"] = "destructive"
    """Which tools need the user's yes: those annotated as destructive, all or none."""
    connect_timeout: Seconds = 30.0
    timeout: Seconds = 30.0
    """For one call."""
    refresh: float = Field(default=60.0, ge=0, le=86_400, allow_inf_nan=False)
    """Seconds between listings when the server reports no change; 0: none."""
    retries: Retries = 1
    """Of tools annotated as read-only or idempotent."""
    allow_private: bool = True
    """Whether the url may lead to this machine or a private network."""

    @model_validator(mode="before")
    @classmethod
    def _as_elsewhere(cls, data: Any) -> Any:  # noqa: ANN401 - what stands in the file
        """Accept ``type`` and ``disabled``, as some desktop clients write them."""
        if not isinstance(data, dict):
            return data
        data = dict(data)
        if "type" in data and "transport" not in data:
            data["transport"] = data.pop("type")
        if isinstance(data.get("disabled"), bool) and "enabled" not in data:
            data["enabled"] = not data.pop("disabled")
        return data

    @field_validator("transport", mode="before")
    @classmethod
    def _spelling(cls, value: object) -> object:
        return _TRANSPORTS.get(value, value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError(
                "expected either command (a program to start) or url (a server that runs), not "
                + ("both" if self.url else "none of them")
            )
        if self.url:
            parts = urlsplit(self.url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError(
                    "expected a url such as http://192.168.1.5:8123/mcp, with http:// or https://"
                )
        if self.transport is not None and (self.transport == "stdio") != bool(self.command):
            raise ValueError(f"transport {self.transport} does not fit: command is for stdio")
        return self

    def chosen_transport(self) -> Literal["stdio", "sse", "streamable_http"]:
        """Return the transport, chosen by command and url where it is unset."""
        if self.transport is not None:
            return self.transport
        if self.command:
            return "stdio"
        path = urlsplit(self.url).path.rstrip("/")
        return "sse" if path.endswith("/sse") else "streamable_http"
