"""Which web pages may open a device's WebSocket, and change things over HTTP.

Browsers do not apply the same-origin policy to WebSockets, but state the page's origin in a header
that the page cannot change (RFC 6455 §10.2). The firmware sends none (websocket_protocol.cc,
OpenAudioChannel). So a request with an ``Origin`` comes from a web page, or from a client library
that states the server's own origin.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from vixio.core.errors import ConfigError

_PORTS = {"http": 80, "ws": 80, "https": 443, "wss": 443}

_Origin = tuple[str, str, int]
"""Scheme, host, port."""


class OriginPolicy:
    """Allows pages of the server's own origin, and those that are listed.

    ``allowed``: origins as ``https://console.example.org``. Raises ConfigError if one is no
    origin, as ``*`` is not.
    """

    def __init__(self, allowed: Sequence[str] = ()) -> None:
        self._allowed: set[_Origin] = set()
        for text in allowed:
            origin = _parse(text)
            if origin is None:
                raise ConfigError(f"allowed_origins: {text!r} is not like https://example.org")
            self._allowed.add(origin)

    def allows(self, origins: Iterable[str], hosts: Iterable[str]) -> bool:
        """Return whether a request may be served.

        ``origins``: its Origin headers, usually none. ``hosts``: the names under which it came,
        with their ports: the Host header, and what a trusted proxy states.
        """
        return all(self._allows(text.strip(), hosts) for text in origins)

    def _allows(self, text: str, hosts: Iterable[str]) -> bool:
        origin = _parse(text)
        if origin is None:  # "null": a page of a file, or of a sandbox
            return False
        scheme = origin[0]
        return origin in self._allowed or any(
            _parse(f"{scheme}://{host.strip()}") == origin for host in hosts
        )


def _parse(text: str) -> _Origin | None:
    """Return an origin in one spelling; None if it is none."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    host = parts.hostname
    default = _PORTS.get(parts.scheme)
    extra = parts.path.rstrip("/") or parts.query or parts.fragment or "@" in parts.netloc
    if not host or default is None or extra:
        return None
    return parts.scheme, host, default if port is None else port
