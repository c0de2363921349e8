"""A listening socket that survives a crowd: a few at a time, and none too many for the process."""

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
"""Connections that the kernel holds until they are accepted: a thousand devices that come back at
once, after a restart, are not sent away to try again a second later."""

MAX_ACCEPTS = 32
"""In one iteration of the loop, so that a storm of connects makes nobody's audio late."""

MAX_RESERVE = 64
"""Descriptors kept free for everything that is no device: HTTP, tools, providers, files."""

NO_DESCRIPTORS = busy("descriptors", "No connection is left on this server, try again.\n")


def descriptor_ceiling() -> int:
    """Return the lowest descriptor that no device may have.

    The kernel hands out the lowest free number, so a socket's number tells how many are in use.
    """
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2**31 if soft == resource.RLIM_INFINITY else soft - min(MAX_RESERVE, soft // 4)


def raise_descriptor_limit() -> None:
    """Raise the process's soft limit of open files to its hard one: 1,024 is a usual soft one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):  # macOS states more than it grants
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Listener(socket.socket):
    """Listens on one address. Raises OSError if it cannot.

    ``on_refused`` is called for each connection that found no descriptor. It is turned away at
    once by way of a spare one: left in the queue, it would make the loop try again without end.
    ``shared``: other processes listen there too, and the kernel gives each its part (Linux).
    """

    def __init__(
        self, host: str, port: int, on_refused: Callable[[], None], *, shared: bool = False
    ) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # With the protocol left out asyncio would not set TCP_NODELAY (base_events, _set_nodelay),
        # and every small frame behind another would wait 40 ms for the device's delayed ACK.
        super().__init__(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._on_refused = on_refused
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
        """Accept a connection. Raises BlockingIOError when it is enough for now."""
        if self._accepted >= MAX_ACCEPTS:
            self._accepted = 0
            raise BlockingIOError
        try:
            accepted = super().accept()
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                self._accepted = 0
                raise
            # Should that fail too, asyncio waits a second, but some of its versions first ask again
            # as often as the backlog is long: the next call says that it is enough.
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
                connection.send(NO_DESCRIPTORS.raw())
            self._on_refused()
        finally:  # also when nobody waited: the limit is reported before the queue is looked at
            with contextlib.suppress(OSError):  # another thread took it: next time, then
                self._spare = os.open(os.devnull, os.O_RDONLY)
