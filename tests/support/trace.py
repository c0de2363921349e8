"""Which names and addresses a program and all its children ask for, by strace.

strace sees each system call of every process that the program starts, whatever library makes it,
and needs no rights but those of a debugger. A request through io_uring would be unseen, so its
set-up counts as a contact. What goes to the loopback does not count, except to a name server.
"""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

ROUTE_PROBE = ("192.0.2.1", 9)
"""Connecting a datagram socket sends nothing: Vixio asks so which of its addresses leads outside
(``vixio/cli/banner.py``). Sending on it counts."""

NAME_SERVERS = ("/nscd/socket", "/systemd/resolve/", "/avahi-daemon/", "/dbus/system_bus_socket")
"""Parts of the paths of sockets through which other programs look names up."""

CALLS = "execve,socket,connect,sendto,sendmsg,sendmmsg,io_uring_setup"
"""``execve``: of the program itself, as a sign that it is traced."""
STRACE = (
    *("strace", "--follow-forks", "--seccomp-bpf", "--daemonize", "-qq", "--decode-fds=path"),
    *("-xx", "--string-limit=300", "--signal=none", f"--trace={CALLS}"),
)
"""Daemonized, so that the program is our child and gets our signals. ``-xx``: strings in hex."""

_LINE = re.compile(r"(\d+) +(?:<\.\.\. )?(\w+)(?:\(| resumed>)(.*)")
_UNFINISHED = "<unfinished ...>"
_HEX = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_FD = re.compile(r"\d+<((?:\\x[0-9a-f]{2})*)>")
_PORT = re.compile(r"sin6?_port=htons\((\d+)\)")
_FAMILY = re.compile(r"sa_family=(AF_\w+|0x\w+)")
_LOCAL = {"AF_UNIX", "AF_LOCAL", "AF_NETLINK", "AF_UNSPEC"}


def _text(escaped: str) -> bytes:
    return bytes.fromhex(escaped.replace("\\x", ""))


def _name_in(query: bytes) -> str:
    """Return the name that a DNS query asks for (RFC 1035, 4.1.2); empty: it is none."""
    labels: list[str] = []
    at = 12
    while at < len(query) and (size := query[at]):
        labels.append(query[at + 1 : at + 1 + size].decode("ascii", "replace"))
        at += 1 + size
    return ".".join(labels)


@dataclass
class TraceReader:
    """Reads lines of strace; ``contacts``: what was asked for, each once, in order."""

    contacts: list[str] = field(default_factory=list)
    programs: int = 0
    """How often a program was started."""
    _begun: dict[str, str] = field(default_factory=dict)
    _datagram: dict[str, bool] = field(default_factory=dict)
    """Socket → whether it is for datagrams."""
    _peers: dict[str, tuple[str, int]] = field(default_factory=dict)

    def feed(self, line: str) -> None:
        """Read one line."""
        if (matched := _LINE.match(line)) is None:
            return
        process, call, rest = matched.groups()
        rest = self._begun.pop(process, "") + rest
        if _UNFINISHED in rest:
            self._begun[process] = rest.partition(_UNFINISHED)[0]
            # It may never end; and what it asks for is known.
            if call == "connect" and "AF_UNIX" not in rest:
                self._connect(rest)
            return
        if call == "socket":
            if found := _FD.search(rest.rpartition(" = ")[2]):
                self._datagram[found[1]] = "SOCK_STREAM" not in rest
                self._peers.pop(found[1], None)
        elif call == "connect":
            self._connect(rest)
        elif call == "execve":
            self.programs += 1
        elif call == "io_uring_setup":
            self._add("io_uring, which cannot be traced")
        else:
            self._send(call, rest)

    def _add(self, contact: str) -> None:
        if contact not in self.contacts:
            self.contacts.append(contact)

    def _connect(self, rest: str) -> None:
        found = _FD.match(rest)
        socket = found[1] if found else ""
        if (peer := _address(rest)) is None:
            path = b"".join(_text(each) for each in _HEX.findall(rest)).decode(errors="replace")
            if rest.endswith(" = 0") and any(part in path for part in NAME_SERVERS):
                self._add(f"names, of the program behind {path}")
            return
        self._peers[socket] = peer
        if not (peer == ROUTE_PROBE and self._datagram.get(socket, False)):
            self._judge(*peer)

    def _send(self, call: str, rest: str) -> None:
        found = _FD.match(rest)
        socket = found[1] if found else ""
        peer = _address(rest) or self._peers.get(socket)
        if peer is None:
            return  # accepted, or of another kind
        if peer[1] == 53:
            for each in _HEX.findall(rest):
                if name := _name_in(_text(each)):
                    self._add(f"the name {name}")
        self._judge(*peer)

    def _judge(self, host: str, port: int) -> None:
        if port == 53:
            self._add(f"the name server {host}")
        elif host.startswith("AF_") or not _is_here(host):
            self._add(f"{host} port {port}")


def _address(rest: str) -> tuple[str, int] | None:
    """Return host and port of a call's socket address; None: it has none, or a local one.

    Of a family that is neither local nor IP: its name, 0.
    """
    if (family := _FAMILY.search(rest)) is None or family[1] in _LOCAL:
        return None
    where = rest[family.start() :]
    if family[1] not in {"AF_INET", "AF_INET6"}:
        return f"AF_ of kind {family[1]}", 0
    port, host = _PORT.search(where), _HEX.search(where)
    if port is None or host is None:
        return f"AF_ that cannot be read: {where[:80]}", 0
    return _text(host[1]).decode("ascii"), int(port[1])


def _is_here(host: str) -> bool:
    address = ipaddress.ip_address(host)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.is_loopback or address.is_unspecified


@dataclass
class Traced:
    """A program under strace. ``process``: the program itself."""

    process: subprocess.Popen[bytes]
    reader: TraceReader
    _thread: threading.Thread

    @property
    def contacts(self) -> list[str]:
        """What was asked for until now."""
        return list(self.reader.contacts)

    def wait(self, seconds: float) -> list[str]:
        """Wait until the program and all that it has started have ended; return the contacts."""
        self.process.wait(seconds)
        self._thread.join(seconds)
        assert not self._thread.is_alive(), "it has left processes that still run"
        assert self.reader.programs, "it ran without being traced"
        return self.contacts

    def wait_for(self, wanted: Callable[[list[str]], bool], seconds: float) -> list[str]:
        """Wait until the contacts are as ``wanted``; at most ``seconds``, or until it ends."""
        until = time.monotonic() + seconds
        while not wanted(self.contacts) and time.monotonic() < until and self._thread.is_alive():
            self._thread.join(0.1)
        return self.contacts


@contextmanager
def traced(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    output: Path,
    stdin: bytes = b"",
) -> Iterator[Traced]:
    """Run ``command`` under strace, its output in the file ``output``. It is killed at the end."""
    given = output.with_suffix(".in")
    given.write_bytes(stdin)
    reading, writing = os.pipe()
    with output.open("wb") as out, given.open("rb") as lines:
        process = subprocess.Popen(
            [*STRACE, f"--output=/dev/fd/{writing}", "--", *map(str, command)],
            cwd=cwd,
            env=dict(environment),
            stdin=lines,
            stdout=out,
            stderr=out,
            pass_fds=[writing],
            start_new_session=True,
        )
    os.close(writing)
    reader = TraceReader()

    def read() -> None:
        with os.fdopen(reading, encoding="ascii", errors="replace") as trace:
            for line in trace:
                reader.feed(line)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        yield Traced(process, reader, thread)
    finally:
        # Its children too, which have the same group; a worker of its own session ends with it.
        try:
            os.killpg(process.pid, 9)
        except ProcessLookupError:
            pass
        process.wait()
        thread.join(30)


@cache
def obstacle() -> str:
    """Return why nothing can be traced here; empty if it can."""
    if shutil.which("strace") is None:
        return "strace is missing: scripts/ensure_strace.sh installs it"
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "output")
        with traced(["true"], cwd=Path(folder), environment=os.environ, output=output) as run:
            try:
                run.wait(30)
            except AssertionError:
                said = output.read_text(encoding="utf-8", errors="replace")
                return f"strace cannot trace here: {' '.join(said.split())}"
    return ""


needs_strace = pytest.mark.skipif(bool(obstacle()), reason=obstacle())
