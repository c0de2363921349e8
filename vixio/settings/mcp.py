"""The section ``mcp_servers``: servers of tools, in the shape that desktop clients use."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, field_validator, model_validator

from vixio.settings.sections import Seconds, Section

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

TAKEN = frozenset({"device", "local", "builtin", "rest", "openapi", "confirm"})
"""Names of other sources and of counters."""

_TRANSPORTS = {
    "http": "streamable_http",
    "streamable-http": "streamable_http",
    "streamableHttp": "streamable_http",
}
"""Other spellings of the field."""


def _server_name(value: str) -> str:
    if not _NAME.fullmatch(value) or value in TAKEN:
        raise ValueError(
            f"expected a name of letters, digits, _, - and . that is none of "
            f"{', '.join(sorted(TAKEN))}; found {value!r}"
        )
    return value


ServerName = Annotated[str, AfterValidator(_server_name)]
Pattern = Annotated[str, Field(min_length=1)]


class McpServerSettings(Section):
    """One server: ``command`` starts it as a child process, ``url`` reaches one that runs."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, SecretStr] = Field(default_factory=dict)
    """Besides PATH, HOME, USER, SHELL and TERM, which are all that it inherits."""
    cwd: str = ""
    url: str = ""
    headers: dict[str, SecretStr] = Field(default_factory=dict)
    transport: Literal["stdio", "sse", "streamable_http"] | None = None
    """Unset: stdio with a command; sse for a URL that ends in /sse; else streamable_http."""
    enabled: bool = True
    allow: tuple[Pattern, ...] = ()
    """Of the server's tools, by pattern; empty: all."""
    deny: tuple[Pattern, ...] = ()
    confirm: Literal["destructive", "always", "never"] = "destructive"
    """Which tools need the user's yes: those that say they destroy, all or none."""
    connect_timeout: Seconds = 30.0
    timeout: Seconds = 30.0
    """For one call."""
    refresh: float = Field(default=60.0, ge=0, le=86_400, allow_inf_nan=False)
    """Between two listings while the server says nothing; 0: none."""
    retries: int = Field(default=1, ge=0, le=10)
    """Of tools that say they only read, or that twice is once."""

    @model_validator(mode="before")
    @classmethod
    def _as_elsewhere(cls, data: Any) -> Any:  # noqa: ANN401 - what stands in the file
        """Take ``type`` and ``disabled``, as some desktop clients write them."""
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
            raise ValueError("expected either command (a program to start) or url")
        if self.url:
            parts = urlsplit(self.url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError("expected url to begin with http:// or https:// and a host")
        if self.transport is not None and (self.transport == "stdio") != bool(self.command):
            raise ValueError(f"transport {self.transport} does not fit: command is for stdio")
        return self

    def chosen_transport(self) -> Literal["stdio", "sse", "streamable_http"]:
        """Return how the server is reached."""
        if self.transport is not None:
            return self.transport
        if self.command:
            return "stdio"
        path = urlsplit(self.url).path.rstrip("/")
        return "sse" if path.endswith("/sse") else "streamable_http"
