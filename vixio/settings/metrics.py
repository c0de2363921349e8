"""The section ``metrics``: who may read the page for Prometheus."""

from __future__ import annotations

from vixio.settings.sections import Networks, Section

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
    allow: Networks = PRIVATE
    """Addresses or networks that may read it."""
