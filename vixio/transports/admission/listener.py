"""A listening socket that bounds the accepts per loop iteration and the descriptors in use."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import socket
from collections.abc import Callable
from typing import Any

from vixio.transports.admission.refusal import busy

BACKLOG = 1_024
"""Connections that the kernel holds until they are accepted: a thousand devices that reconnect at
once after a restart need no second attempt."""

MAX_ACCEPTS = 32
"""Per iteration of the loop, so that a storm of connects does not delay audio."""

MAX_RESERVE = 64
"""Descriptors reserved for everything but devices: HTTP, tools, providers, files."""

NO_DESCRIPTORS = busy("descriptors", "No connection is left on this server, try again.\n")


def descriptor_ceiling() -> int:
    """Return the lowest descriptor that is reserved.

    The kernel hands out the lowest free number, so a socket's number is the count in use.
    """
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2**31 if soft == resource.RLIM_INFINITY else soft - min(MAX_RESERVE, soft // 4)


def raise_descriptor_limit() -> None:
    """Raise the process's soft limit of open files, usually 1,024, to its hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):  # macOS grants less than it reports
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Listener(socket.socket):
    """Listens on one address. Raises OSError if it cannot.

    ``on_refused`` is called for each connection that found no descriptor. It is answered at
    once through a spare one: left in the queue, it would make the loop retry without end.
    ``answer``: what it is told. ``shared``: other processes listen there too, and the kernel
    distributes connections (Linux).
    """

    def __init__(
        self,
        host: str,
        port: int,
        on_refused: Callable[[], None],
        *,
        shared: bool = False,
        answer: bytes = NO_DESCRIPTORS.raw(),
    ) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # With the protocol left out asyncio would not set TCP_NODELAY (base_events, _set_nodelay),
        # and every small frame behind another would wait 40 ms for the device's delayed ACK.
        super().__init__(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._on_refused = on_refused
        self._answer = answer
        self._accepted = 0
        self._spare: int | None = None
        try:
            self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if shared:
                self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            self.bind((host, port))
            self._spare = os.open(os.devnull, os.O_RDONLY)
        except BaseException:
            self.close()
            raise

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection. Raises BlockingIOError after ``MAX_ACCEPTS`` in a row."""
        if self._accepted >= MAX_ACCEPTS:
            self._accepted = 0
            raise BlockingIOError
        try:
            accepted = super().accept()
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                self._accepted = 0
                raise
            # If that fails too, asyncio waits a second, but some of its versions first call again
            # as often as the backlog is long: the next call ends that.
            self._accepted = MAX_ACCEPTS
            self._turn_away()
            self._accepted = 0
            raise BlockingIOError from None
        self._accepted += 1
        return accepted

    def close(self) -> None:
        """Free the port."""
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None
        super().close()

    def _turn_away(self) -> None:
        """Accept with the spare descriptor, answer, close. Raises OSError if even that fails."""
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None
        try:
            connection, _ = super().accept()
            with connection, contextlib.suppress(OSError):  # it may be gone already
                connection.setblocking(False)
                connection.send(self._answer)
            self._on_refused()
        finally:  # also with an empty queue: the kernel checks the limit first
            with contextlib.suppress(OSError):  # another thread took it; the next call tries again
                self._spare = os.open(os.devnull, os.O_RDONLY)
