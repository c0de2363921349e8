"""What a trusted reverse proxy states about a request: how the device wrote the address, and which
client it is.

By X-Forwarded-Host, -Proto, -Port, -Prefix and -For, or by ``Forwarded`` (RFC 7239). Where both are
present the former count: a proxy that sets them may pass on a client's ``Forwarded`` unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

HEADERS: Final = frozenset(
    {
        "forwarded",
        "x-forwarded-host",
        "x-forwarded-port",
        "x-forwarded-prefix",
        "x-forwarded-proto",
    }
)
"""Those that state an address, in lower case."""

HOST: Final = re.compile(
    r"(?P<name>[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::(?P<port>\d{1,5}))?"
)

_PREFIX: Final = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)*")
_MAX_PREFIX: Final = 200

_MAX_CHARS: Final = 4_096
"""Of ``Forwarded`` that are read."""

_PAIR: Final = re.compile(
    # token "=" (token / quoted-string), RFC 7239 section 4; a bare host:port is tolerated.
    r'\s*(?P<name>[A-Za-z]+)=(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s;,"]*))\s*(?P<end>[;,]|$)'
)

_USUAL: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class StatedAddress:
    """The address that the device used. Empty: not stated, or not usable."""

    host: str = ""
    """With its port, unless that is the usual one of the scheme."""
    secure: bool = False
    prefix: str = ""
    """Of the path, as ``/assistant``: what the proxy removed."""


def stated_address(headers: Mapping[str, str]) -> StatedAddress:
    """Return the address in ``headers`` (names in lower case) of a trusted proxy.

    Behind several proxies the first entry is the one that the device spoke to.
    """
    host, scheme, port = (_first(headers, f"x-forwarded-{it}") for it in ("host", "proto", "port"))
    prefix = _joined(headers.get("x-forwarded-prefix", ""))
    if not (host or scheme or port or prefix):
        element = next(_elements(headers.get("forwarded", "")), {})
        host, scheme = element.get("host", ""), element.get("proto", "")
    if not (host or scheme or port or prefix):
        return StatedAddress()
    match = HOST.fullmatch(host or headers.get("host", "").strip())
    if match is None:
        return StatedAddress()
    scheme = scheme.lower()
    number = int(port) if re.fullmatch(r"\d{1,5}", port) and 0 < int(port) < 65_536 else 0
    secure = scheme in {"https", "wss"} or (not scheme and number == _USUAL["https"])
    if match["port"] is not None or not number:
        return StatedAddress(match[0], secure, prefix)
    # A balancer in front may have ended TLS: the port is then that of its plain connection.
    if number in _USUAL.values():
        return StatedAddress(match["name"], secure, prefix)
    return StatedAddress(f"{match['name']}:{number}", secure, prefix)


def stated_clients(values: Callable[[str], Sequence[str]]) -> list[str]:
    """Return the clients that proxies state, the nearest proxy's last.

    ``values`` returns all values of a header.
    """
    stated = values("x-forwarded-for")
    if stated:
        return list(stated)
    return [element.get("for", "unknown") for element in _elements(",".join(values("forwarded")))]


def _first(headers: Mapping[str, str], name: str) -> str:
    return headers.get(name, "").partition(",")[0].strip()


def _joined(text: str) -> str:
    """Return the prefixes of one or several proxies as one; empty if they are none."""
    prefix = "".join(each.strip().rstrip("/") for each in text.split(","))
    return prefix if len(prefix) <= _MAX_PREFIX and _PREFIX.fullmatch(prefix) else ""


def _elements(text: str) -> Iterator[dict[str, str]]:
    """Yield the parameters of each element, until one is malformed."""
    place, element = 0, dict[str, str]()
    text = text[:_MAX_CHARS].strip()
    while place < len(text):
        match = _PAIR.match(text, place)
        if match is None:
            return
        quoted = match["quoted"]
        value = match["bare"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        element.setdefault(match["name"].lower(), value)
        if match["end"] != ";":
            yield element
            element = {}
        place = match.end()
