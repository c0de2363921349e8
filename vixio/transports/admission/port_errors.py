"""The words for a port that cannot be opened."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from vixio.core.errors import ConfigError


def port_error(host: str, port: int, key: str, error: OSError) -> ConfigError:
    """Return in one line why a server cannot listen on ``host`` and ``port``, and what to do.

    ``key``: of the section ``server``, ``port`` or ``http_port``, or ``SECTION.KEY`` without an
    option of the command. Blocking: looks who uses it.
    """
    option = f"--{key.replace('_', '-')} N, or server.{key} in the settings"
    if "." in key:
        option = f"{key} in the settings"
    if isinstance(error, socket.gaierror):
        return ConfigError(
            f"there is no host {host!r} to listen on: correct --host or server.host; 0.0.0.0 "
            "stands for all addresses of this machine"
        )
    match error.errno:
        case errno.EADDRINUSE:
            by = "" if "udp" in key else holder_of(port)
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


_PROC: Final = Path("/proc")
_LISTEN: Final = "0A"
"""TCP_LISTEN of include/net/tcp_states.h."""


def holder_of(port: int, proc: Path = _PROC) -> str:
    """Return ``process 4711 (nginx)``; empty if that cannot be seen. Blocking, some milliseconds.

    Linux shows those of one's own user (proc(5)): ``net/tcp`` has the inode of each socket,
    ``PID/fd`` the sockets of a process. The name is that of the program or of the script, without
    its arguments.
    """
    sockets = {f"socket:[{inode}]" for inode in _inodes(port, proc)}
    if not sockets:
        return ""
    for process in sorted(proc.glob("[0-9]*"), key=lambda path: int(path.name)):
        # Other users' processes are closed to us; some end meanwhile.
        with suppress(OSError):
            if any(str(each.readlink()) in sockets for each in (process / "fd").iterdir()):
                return f"process {process.name} ({_name(process)})"
    return ""


def _inodes(port: int, proc: Path) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (proc / "net" / table).read_text("ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                    yield fields[9]


def _name(process: Path) -> str:
    program, *arguments = (process / "cmdline").read_text("utf-8", "replace").split("\0")
    if Path(program).name.startswith("python"):
        if arguments[:1] == ["-m"]:
            return arguments[1]
        if arguments and arguments[0] and not arguments[0].startswith("-"):
            program = arguments[0]
    return Path(program).name or (process / "comm").read_text("utf-8", "replace").strip()
