"""The section ``api``: the HTTP API."""

from __future__ import annotations

import re

from pydantic import Field, field_validator

from vixio.settings.sections import Section


class ApiSection(Section):
    """The HTTP API at ``/api/v1`` on ``server.http_port``. See docs/api-http.md."""

    enabled: bool = True
    console: bool = True
    """Whether the web console is served at ``/console/``. See docs/console.md."""
    hosts: tuple[str, ...] = ()
    """Further names of this server, as ``voice.example.org``, by which the API may be called and
    pages of the server may open its WebSocket; its addresses, ``server.public_host`` and the names
    of this machine always work."""
    requests_per_minute: int = Field(default=600, ge=0, le=1_000_000)
    """Of each token, and of each address; 0: no limit."""
    logins_per_minute: int = Field(default=10, ge=1, le=1_000)
    """Failed ones of each address."""

    programs: bool = False
    """Whether who logs in may add tools that are programs, which run on this machine with the
    rights of the server, and such in its private network. `vixio tools` always may."""

    @property
    def serves_console(self) -> bool:
        """Whether the web console is there, which is a client of the API."""
        return self.enabled and self.console

    @field_validator("hosts")
    @classmethod
    def _names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for entry in value:
            if not re.fullmatch(r"[A-Za-z0-9_.-]{1,253}", entry):
                raise ValueError(f"expected names such as voice.example.org, found {entry!r}")
        return tuple(entry.lower() for entry in value)
