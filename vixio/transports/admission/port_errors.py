"""The words for a port that cannot be opened."""

from __future__ import annotations

import errno
import socket

from vixio.core.errors import ConfigError
from vixio.transports.admission.port_holder import holder_of


def port_error(host: str, port: int, key: str, error: OSError) -> ConfigError:
    """Return in one line why a server cannot listen on ``host`` and ``port``, and what to do.

    ``key``: of the section ``server``, ``port`` or ``http_port``. Blocking: looks who uses it.
    """
    option = f"--{key.replace('_', '-')} N, or server.{key} in the settings"
    if isinstance(error, socket.gaierror):
        return ConfigError(
            f"there is no host {host!r} to listen on: correct --host or server.host; 0.0.0.0 "
            "stands for all addresses of this machine"
        )
    match error.errno:
        case errno.EADDRINUSE:
            by = holder_of(port)
            user = f" by {by}" if by else ", by another program or a Vixio that still runs"
            return ConfigError(
                f"port {port} of {host} is in use{user}: stop it, or choose another port ({option})"
            )
        case errno.EADDRNOTAVAIL:
            return ConfigError(
                f"{host} is no address of this machine: correct --host or server.host; 0.0.0.0 "
                "stands for all its addresses"
            )
        case errno.EACCES:
            return ConfigError(
                f"port {port} needs an administrator's rights: choose one above 1023 ({option})"
            )
    return ConfigError(f"cannot listen on port {port} of {host}: {error.strerror} ({option})")
