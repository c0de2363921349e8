"""Decides which addresses a REST tool may reach.

A name is resolved once, its addresses are checked, and the connection goes to one of them. So a
name that resolves differently a moment later (DNS rebinding) reaches nothing else.
"""

from __future__ import annotations

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address

from vixio.core.errors import ToolError

RESOLVE_TIMEOUT = 5.0

NOT_PUBLIC = "the service's address is not on the public internet"

MAX_ADDRESSES = 4
"""Of a name; further ones are not tried."""


def is_public(text: str) -> bool:
    """Whether this is an address of the public internet.

    It is not: this machine, private networks, link-local addresses (cloud metadata), shared,
    reserved and multicast addresses, and IPv6 addresses that embed one of these: mapped (RFC 4291
    2.5.5.2), 6to4 (RFC 3056), Teredo (RFC 4380) and NAT64 (RFC 6052).
    """
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if not address.is_global or address.is_multicast:
        return False
    if isinstance(address, IPv4Address):
        return True
    return all(is_public(str(inner)) for inner in _inner(address))


def _inner(address: IPv6Address) -> list[IPv4Address]:
    found = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if int(address) >> 32 == 0x64FF9B << 64:
        found.append(IPv4Address(int(address) & 0xFFFFFFFF))
    return [inner for inner in found if inner is not None]


async def addresses_of(host: str, port: int, *, allow_private: bool) -> list[str]:
    """Return the addresses to connect to, at least one. Raises ToolError.

    One private address refuses the whole name: it points into a private network.
    """
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(RESOLVE_TIMEOUT):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError, UnicodeError):
        message = "the service's name has no address just now"
        raise ToolError("disconnected", message, retryable=True) from None
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not allow_private and not all(map(is_public, addresses)):
        raise ToolError("denied", f"{NOT_PUBLIC}; allow_private: true allows that")
    return addresses[:MAX_ADDRESSES]
