"""The URL of another service of this server, on the address through which the device came."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from vixio.transports.admission.forwarded import HOST, stated_address


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """Where a device reaches the HTTP port. ``port``: once it listens. ``public_url``, or
    ``public_host`` in the URL, instead of the address through which the device came."""

    port: Callable[[], int]
    public_host: str = ""
    public_url: str = ""

    def __call__(
        self, headers: Mapping[str, str], own_host: str, *, trust_forwarded: bool, path: str = ""
    ) -> str:
        """Return the URL of ``path``; the arguments are those of :func:`public_url`."""
        if self.public_url:
            return f"{self.public_url}{path}"
        if self.public_host:
            headers, trust_forwarded = {"host": self.public_host}, False
        return public_url(
            headers,
            own_host,
            schemes=("http", "https"),
            port=self.port(),
            path=path,
            trust_forwarded=trust_forwarded,
        )


def public_url(
    headers: Mapping[str, str],
    own_host: str,
    *,
    schemes: tuple[str, str],
    port: int,
    path: str,
    trust_forwarded: bool,
) -> str:
    """Return the URL of ``path`` for the device that sent ``headers`` (names in lower case).

    ``schemes``: the plain and the secure one. ``trust_forwarded``: believe X-Forwarded-* and
    Forwarded, as a reverse proxy sets them that carries all our services on one port.
    ``own_host`` is the server's address of this connection, for a request without a usable Host.
    """
    plain, secure = schemes
    if trust_forwarded:
        stated = stated_address(headers)
        if stated.host:
            scheme = secure if stated.secure else plain
            return f"{scheme}://{stated.host}{stated.prefix}{path}"
    match = HOST.fullmatch(headers.get("host", "").strip())
    host = match["name"] if match else own_host
    return f"{plain}://{host}:{port}{path}"
