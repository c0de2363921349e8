"""Which addresses a REST tool may reach: judged on the very address that is connected to.

A name is resolved once, its addresses are judged, and the connection goes to one of them; so a name
that resolves to something else a moment later (DNS rebinding) gains nothing.
"""

from __future__ import annotations

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address

from vixio.core.errors import ToolError

RESOLVE_TIMEOUT = 5.0

MAX_ADDRESSES = 4
"""That are tried, of all that a name has."""


def is_public(text: str) -> bool:
    """Is this an address of the public internet?

    Not so are this machine, private networks, link-local ones (where clouds keep their metadata),
    shared, reserved and multicast ones, and what of these hides in an IPv6 address: mapped
    (RFC 4291 2.5.5.2), 6to4 (RFC 3056), Teredo (RFC 4380) and NAT64 (RFC 6052).
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

    A name of which one address is refused is refused as a whole: it points inside.
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
        message = "the service's address is not on the public internet, which is not allowed"
        raise ToolError("denied", message)
    return addresses[:MAX_ADDRESSES]
