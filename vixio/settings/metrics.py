"""The section ``metrics``: who may read the page for Prometheus."""

from __future__ import annotations

from ipaddress import ip_network

from pydantic import field_validator

from vixio.settings.sections import Section

PRIVATE = (
    "127.0.0.0/8",
    "::1/128",
    "10.0.0.0/8",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "fc00::/7",
    "fe80::/10",
)
"""This machine and private networks: RFC 1918, 4193 and 4291."""


class MetricsSection(Section):
    """``/metrics`` on the HTTP port. docs/operations.md lists what it shows."""

    enabled: bool = True
    allow: tuple[str, ...] = PRIVATE
    """Addresses or networks that may read it."""

    @field_validator("allow")
    @classmethod
    def _networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for entry in value:
            try:
                ip_network(entry, strict=False)
            except ValueError:
                raise ValueError(
                    f"expected addresses or networks such as 10.0.0.0/8, found {entry!r}"
                ) from None
        return value
