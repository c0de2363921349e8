"""The client's address of a connection: its peer's, or the one that a trusted proxy states."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network

from vixio.core.errors import ConfigError

Address = IPv4Address | IPv6Address

TRUSTED_PROXIES = ("127.0.0.1", "::1")
"""This machine: local processes are trusted."""

MAX_FORWARDED_CHARS = 1_024
"""Of X-Forwarded-For that are read, from its end, which the nearest proxy wrote."""


def parse_address(text: str) -> Address | None:
    """Return the address in ``text``; also with a port, in brackets, or with a zone."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def address_key(address: Address) -> str:
    """Return the key under which an address is counted: itself, or the /64 of an IPv6 address.

    A /64 is assigned to one household or machine, which can use any address within.
    """
    if isinstance(address, IPv4Address):
        return str(address)
    return str(IPv6Network((int(address) >> 64 << 64, 64)))


class Networks:
    """Addresses and networks of the settings, under ``key``.

    Raises ConfigError if an entry is neither.
    """

    def __init__(self, entries: Sequence[str], key: str) -> None:
        try:
            self._networks = [ip_network(entry.strip(), strict=False) for entry in entries]
        except ValueError as error:
            raise ConfigError(f"{key}: {error}") from None

    def __contains__(self, address: Address) -> bool:
        return any(
            address.version == network.version and address in network for network in self._networks
        )


class Proxies:
    """The trusted reverse proxies. Raises ConfigError if an entry is no address or network."""

    def __init__(self, trusted: Sequence[str] = ()) -> None:
        self._networks = Networks(trusted, "trusted_proxies")

    def trusts(self, address: Address | None) -> bool:
        """Whether ``address`` is one of the proxies."""
        return address is not None and address in self._networks

    def client(self, peer: Address | None, forwarded: Iterable[str]) -> Address | None:
        """Return the client behind ``peer`` by what it states; None if it names none.

        ``forwarded``: of :func:`~vixio.transports.admission.forwarded.stated_clients`.

        Each proxy appends the address that it saw, so the last one that is no proxy of ours is
        the client; what stands before it the client may have written itself.
        """
        if not self.trusts(peer):
            return peer
        entries = ",".join(forwarded)[-MAX_FORWARDED_CHARS:].split(",")
        for entry in reversed(entries):
            address = parse_address(entry)
            if address is None:
                return None
            if not self.trusts(address):
                return address
        return None
