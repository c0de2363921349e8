"""Under which names a server may be called by browsers, against DNS rebinding.

A page of ``evil.example`` whose name is made to resolve to this server is of its own origin there,
so the browser sends no foreign ``Origin``; but the ``Host`` header still has that name. An address
in it is no name, and therefore no attack. Nor is a name that nobody can register in the public DNS:
one without a dot, as ``vixio`` of a compose file, and one under a suffix for local use.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from typing import Final

from vixio.transports.admission.addresses import parse_address

_HOST = re.compile(r"(?P<name>[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:\d{1,5})?")


_LOCAL: Final = (
    ".localhost",  # RFC 6761
    ".local",  # RFC 6762, and cluster.local of Kubernetes
    ".home.arpa",  # RFC 8375
    ".internal",  # kept for private use by ICANN, 2024
    ".lan",  # no top-level domain, used by routers; so is the next, by Kubernetes
    ".svc",
)


class HostPolicy:
    """Allows addresses, local names, the names of this machine, and those that are listed."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        own = socket.gethostname().lower().rstrip(".")
        short = own.partition(".")[0]
        self._names = {"localhost", own, short, f"{short}.local"}
        self._names |= {name.lower().rstrip(".") for name in names if name}

    def allows(self, host: str) -> bool:
        """Whether a request with this ``Host`` header may be served."""
        match = _HOST.fullmatch(host.strip())
        if match is None:
            return False
        name = match["name"].lower().rstrip(".")
        if name in self._names or parse_address(name) is not None:
            return True
        return _is_label(name) or (name.endswith(_LOCAL) and all(name.split(".")))


def _is_label(name: str) -> bool:
    """Whether it is a name without a dot."""
    return re.fullmatch(r"[a-z0-9_-]+", name) is not None
