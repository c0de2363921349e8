"""A connection to a broker that is kept up: opened again after a growing delay when it is lost."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

from vixio.bus.address import BrokerAddress
from vixio.bus.errors import BrokerError
from vixio.core.backoff import Backoff
from vixio.core.tasks import cancel_and_wait

CONNECT_S: Final = 10.0
"""Seconds for one attempt to connect, subscriptions included."""

SHUT_S: Final = 5.0
"""Seconds for closing a connection."""

STEADY_S: Final = 10.0
"""After a connection that lasted so long the first delay applies again."""

RECONNECT: Final = Backoff(first=0.25, longest=15.0)

_log = logging.getLogger(__name__)


class KeptConnection(ABC):
    """A connection to the broker at ``address``, opened by :meth:`start`.

    Who implements it calls :meth:`lost` when the connection ends.
    """

    def __init__(self, address: BrokerAddress, *, backoff: Backoff = RECONNECT) -> None:
        self.address = address
        self.connected = False
        self.fault = ""
        """Why there is no connection; empty while there is one."""
        self.watchers: list[Callable[[bool], None]] = []
        """Called with True when a connection is up, with False when :attr:`fault` is another."""
        self._backoff = backoff
        self._task: asyncio.Task[None] | None = None
        self._shutting: asyncio.Future[None] | None = None
        self._closing = False
        self._loss: asyncio.Future[str] | None = None
        self._known = asyncio.Event()

    async def start(self) -> None:
        """Begin to connect in the background. Idempotent."""
        if self._task is None and not self._closing:
            self._task = asyncio.create_task(self._run(), name=f"broker {self.address}")

    async def ready(self) -> None:
        """Wait until the first attempt to connect has succeeded or failed."""
        await self._known.wait()

    async def close(self) -> None:
        """Close the connection. Idempotent; bounded by :data:`SHUT_S`."""
        self._closing = True
        self._known.set()
        await cancel_and_wait(self._task)
        if self._shutting is not None:
            await asyncio.wait((self._shutting,), timeout=SHUT_S)
            self._shutting.cancel()

    def lost(self, reason: str) -> None:
        """Note that the connection has ended. For backends; from the event loop's thread."""
        if self._loss is not None and not self._loss.done():
            self._loss.set_result(reason)

    @abstractmethod
    async def _open(self) -> None:
        """Connect. Raises BrokerError."""

    async def _opened(self) -> None:  # noqa: B027 - optional
        """Do what belongs to every new connection, before it is up. Raises BrokerError."""

    @abstractmethod
    async def _shut(self) -> None:
        """Release the connection, whether it is open, half open or lost."""

    def _forget(self) -> None:  # noqa: B027 - optional
        """Forget what belonged to the connection."""

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        failures = 0
        while True:
            began = loop.time()
            await self._once(loop)
            failures = 1 if loop.time() - began >= STEADY_S else failures + 1
            await asyncio.sleep(self._backoff.delay(failures))

    async def _once(self, loop: asyncio.AbstractEventLoop) -> None:
        """Connect, wait until the connection is lost, and clean up."""
        self._loss = loop.create_future()
        try:
            try:
                async with asyncio.timeout(CONNECT_S):
                    await self._open()
                    await self._opened()
            except TimeoutError:
                raise BrokerError(f"no connection within {CONNECT_S:g} s") from None
            self._up()
            self._down(await self._loss)
        except Exception as error:  # noqa: BLE001 - third-party code; the next attempt follows
            kind = "" if isinstance(error, BrokerError) else f"{type(error).__name__}: "
            self._down(f"{kind}{error}")
        finally:
            self.connected = False
            # A task of its own: closing the broker in this moment must not leave it half done.
            self._shutting = asyncio.ensure_future(self._shut())
            await asyncio.wait((self._shutting,), timeout=SHUT_S)
            self._forget()

    def _up(self) -> None:
        self.connected = True
        self.fault = ""
        self._known.set()
        _log.info("broker connected", extra={"broker": str(self.address)})
        self._tell(up=True)

    def _down(self, reason: str) -> None:
        """Note that there is no connection; a warning once until the next one."""
        first = self.connected or not self._known.is_set()
        before, self.fault = self.fault, " ".join(reason.split())
        _log.log(
            logging.WARNING if first else logging.DEBUG,
            "broker not connected",
            extra={"broker": str(self.address), "reason": self.fault},
        )
        was_up, self.connected = self.connected, False
        self._known.set()
        if was_up or self.fault != before:
            self._tell(up=False)

    def _tell(self, *, up: bool) -> None:
        for watcher in tuple(self.watchers):
            watcher(up)
