"""The URL of another service of this server, on the address through which the device came."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_HOST = re.compile(r"([A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:\d{1,5})?")


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """Where a device reaches the HTTP port. ``port``: once it listens. ``public_host`` stands in
    the URL instead of the address through which the device came."""

    port: Callable[[], int]
    public_host: str = ""

    def __call__(
        self, headers: Mapping[str, str], own_host: str, *, trust_forwarded: bool, path: str = ""
    ) -> str:
        """Return the URL of ``path``; the arguments are those of :func:`public_url`."""
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

    ``schemes``: the plain and the secure one. ``trust_forwarded``: believe X-Forwarded-Host and
    X-Forwarded-Proto, as a reverse proxy sets them that carries all our services on one port.
    ``own_host`` is the server's address of this connection, for a request without a usable Host.
    """
    plain, secure = schemes
    if trust_forwarded:
        # Behind several proxies the first entry is the one that the device spoke to.
        forwarded = headers.get("x-forwarded-host", "").partition(",")[0].strip()
        scheme = headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower()
        host = forwarded or (headers.get("host", "").strip() if scheme else "")
        if _HOST.fullmatch(host):
            return f"{secure if scheme in {'https', 'wss'} else plain}://{host}{path}"
    match = _HOST.fullmatch(headers.get("host", "").strip())
    host = match[1] if match else own_host
    return f"{plain}://{host}:{port}{path}"
