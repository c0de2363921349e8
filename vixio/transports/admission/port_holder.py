"""Finds the process that listens on a port, where Linux shows it: those of one's own user.

proc(5): ``/proc/net/tcp`` has the inode of each socket, ``/proc/PID/fd`` the sockets of a process.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_LISTEN: Final = "0A"
"""TCP_LISTEN of include/net/tcp_states.h."""


def holder_of(port: int, proc: Path = _PROC) -> str:
    """Return ``process 4711 (nginx)``; empty if that cannot be seen. Blocking, some milliseconds.

    The name is that of the program or of the script, without its arguments.
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
