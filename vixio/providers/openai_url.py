"""The address of an OpenAI-compatible server, as settings have it: mistakes that are certain."""

from __future__ import annotations

import re
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator

_ENDPOINTS: Final = (
    "/chat/completions",
    "/completions",
    "/responses",
    "/embeddings",
    "/audio/speech",
    "/audio/transcriptions",
    "/audio/translations",
    "/models",
)
"""Paths of requests, which follow the base URL."""

_WITHOUT_SCHEME: Final = re.compile(r"(?P<host>[\w.-]+|\[[\da-fA-F:]+\])(?P<port>:\d+)?(/[^\s@]*)?")
_NEAR: Final = re.compile(r"localhost|[\d.]+|\[.*\]|[^.]+")
"""Hosts that speak HTTP without TLS, as a rule: this machine, an address, a name without a dot."""


def checked_url(url: str) -> str:
    """Return an HTTP address. Raises ValueError if it cannot be one, with what to write."""
    if not url:
        return url  # a variable of the environment that is not set
    parts = urlsplit(url)
    if parts.scheme in ("http", "https") and parts.hostname:
        _ = parts.port  # raises ValueError for one that is no port
        return url
    if found := _WITHOUT_SCHEME.fullmatch(url):
        near = found["port"] or _NEAR.fullmatch(found["host"])
        scheme = "http" if near else "https"
        raise ValueError(f"expected an address with its scheme: write {scheme}://{url}")
    raise ValueError("expected an address that begins with http:// or https:// and a host")


def checked_base_url(url: str) -> str:
    """Return an address under which requests have their own paths.

    Raises ValueError if it is no address, or that of one request, with what to write.
    """
    parts = urlsplit(checked_url(url))
    path = parts.path.rstrip("/")
    for endpoint in _ENDPOINTS:
        if path.endswith(endpoint):
            base = parts._replace(path=path.removesuffix(endpoint))
            if "@" in parts.netloc:  # it may hold a password
                raise ValueError(f"expected an address without {endpoint}, which is added")
            raise ValueError(
                f"expected an address without {endpoint}, which is added: write {base.geturl()}"
            )
    return url


ServerUrl = Annotated[str, AfterValidator(checked_url)]
BaseUrl = Annotated[str, AfterValidator(checked_base_url)]
