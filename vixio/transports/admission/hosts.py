"""Under which names a server may be called by browsers, against DNS rebinding.

A page of ``evil.example`` whose name is made to resolve to this server is of its own origin there,
so the browser sends no foreign ``Origin``; but the ``Host`` header still has that name. An address
in it is no name, and therefore no attack.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable

from vixio.transports.admission.addresses import parse_address

_HOST = re.compile(r"(?P<name>[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(:\d{1,5})?")


class HostPolicy:
    """Allows addresses, the names of this machine, and those that are listed."""

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
        return name in self._names or parse_address(name) is not None
