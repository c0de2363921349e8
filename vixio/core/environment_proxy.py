"""The HTTP proxy of the environment (``HTTP_PROXY`` …), for each client that connects to a server.

The one place that decides whether a proxy applies. The libraries' own rules differ, and all of them
send requests for this machine through the proxy, which would look for the server on its own.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from vixio.core.errors import ConfigError

_LOOPBACK_NAMES: Final = frozenset(
    {"localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"}
)
"""And everything under ``localhost`` (RFC 6761 section 6.3)."""

_KINDS: Final = MappingProxyType(
    {
        "http": ("http",),
        "https": ("https",),
        # RFC 6455 section 4.1: a SOCKS proxy first, and the one for HTTPS before that for HTTP.
        "ws": ("ws", "socks", "https", "http"),
        "wss": ("wss", "socks", "https"),
    }
)
"""By the scheme of a URL: which proxies apply, the first one of them that is set."""


@dataclass(frozen=True, slots=True)
class EnvironmentProxy:
    """``str()`` names it for messages, without its credentials."""

    url: str = field(repr=False)
    """With its scheme, and its credentials if it has any."""
    variable: str
    """Where it is set, as ``HTTP_PROXY``."""

    def __str__(self) -> str:
        # A password may contain any character, so only what follows the last @ is shown.
        place = self.url.partition("://")[2].rpartition("@")[2].partition("/")[0]
        return f"the proxy {place} of {self.variable}"

    @property
    def hint(self) -> str:
        """What to do if the server is not reached through it."""
        return "if the host needs no proxy, add it to NO_PROXY"

    def check(self, *schemes: str) -> None:
        """Raise ConfigError if a client that supports ``schemes`` cannot use it.

        The libraries' own messages quote its credentials.
        """
        scheme = self.url.partition("://")[0].lower()
        if scheme not in schemes:
            supported = ", ".join(schemes)
            raise ConfigError(f"{self} is {scheme}, supported: {supported}; {self.hint}")
        try:
            parts = urlsplit(self.url)
            usable = bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        if not usable:
            raise ConfigError(
                f"{self} is no address such as http://host:3128, with %-codes for special "
                "characters in its user and password"
            )


def proxy_for(url: str, *, every_scheme: bool = False) -> EnvironmentProxy | None:
    """Return the proxy through which ``url`` is reached; None: directly.

    None for this machine and for what ``NO_PROXY`` lists. ``every_scheme``: whether ``ALL_PROXY``
    counts where nothing more specific is set.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    if is_loopback(host) or _is_excepted(host, parts.port):
        return None
    proxies = getproxies()
    kinds = _KINDS.get(parts.scheme, ()) + (("all",) if every_scheme else ())
    kind = next((each for each in kinds if proxies.get(each)), None)
    if kind is None:
        return None
    found = proxies[kind]
    if kind == "socks":  # some systems state it with the scheme http
        found = f"socks5h://{found.partition('://')[2] or found}"
    return EnvironmentProxy(found if "://" in found else f"http://{found}", _variable(kind))


def except_loopback() -> None:
    """Add this machine to NO_PROXY, for a library that reads the environment by itself."""
    listed = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    entries = [each.strip() for each in listed.split(",") if each.strip()]
    entries += [each for each in ("localhost", "127.0.0.1", "::1") if each not in entries]
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = ",".join(entries)


def is_loopback(host: str) -> bool:
    """Whether ``host`` is this machine, by what is written: names are not resolved."""
    host = host.lower().rstrip(".").strip("[]")
    if host in _LOOPBACK_NAMES or host.endswith(".localhost"):
        return True
    address = _address(host)
    # A connection to the unspecified address reaches this machine too.
    return address is not None and (address.is_loopback or address.is_unspecified)


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        try:  # 127.1 and 0x7f000001 are addresses for every resolver
            return IPv4Address(socket.inet_aton(host)) if host[:1].isdigit() else None
        except (OSError, UnicodeError):
            return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _is_excepted(host: str, port: int | None) -> bool:
    """Whether NO_PROXY, or the system, excepts this host."""
    shown = f"[{host}]" if ":" in host else host
    if any(map(proxy_bypass, {host, f"{shown}:{port}" if port else host})):
        return True
    address = _address(host)
    return address is not None and any(address in network for network in _excepted_networks())


def _excepted_networks() -> Iterator[IPv4Network | IPv6Network]:
    """Yield the networks in NO_PROXY, as 192.168.0.0/16, which the standard library ignores."""
    for entry in getproxies().get("no", "").split(","):
        try:
            if "/" in entry:
                yield ip_network(entry.strip(), strict=False)
        except ValueError:
            continue


def _variable(kind: str) -> str:
    # In lower case first, as the standard library.
    for name in (f"{kind}_proxy", f"{kind.upper()}_PROXY"):
        if os.environ.get(name):
            return name
    return next(
        (name for name in os.environ if name.lower() == f"{kind}_proxy"), "the system's settings"
    )
