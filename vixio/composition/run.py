"""Runs a server from its start to its end, as a process does."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from vixio.core.clock import now
from vixio.core.errors import ProviderError
from vixio.core.garbage import collect_rarely, freeze_memory
from vixio.core.session.events import EventBus
from vixio.core.session.log import WordsLog
from vixio.core.tasks import cancel_and_wait
from vixio.settings import Settings
from vixio.transports.admission.listener import raise_descriptor_limit

if TYPE_CHECKING:
    from vixio.server import Server

_log = logging.getLogger(__name__)

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """Whether a process is to stop: :meth:`now`, or once its devices have finished speaking."""

    def __init__(self) -> None:
        self._asked = asyncio.Event()
        self._now = asyncio.Event()

    def now(self) -> None:
        """Stop now; also a process that drains."""
        self._asked.set()
        self._now.set()

    def drain(self) -> None:
        """Stop after a drain."""
        self._asked.set()

    @property
    def at_once(self) -> bool:
        """Whether to stop now."""
        return self._now.is_set()

    async def wait(self) -> None:
        """Wait until the process is to stop, in either way."""
        await self._asked.wait()

    async def unless_now(self, work: Coroutine[Any, Any, None]) -> None:
        """Do ``work``; it is cancelled if the process is to stop now."""
        working = asyncio.create_task(work)
        hurrying = asyncio.create_task(self._now.wait())
        try:
            await asyncio.wait([working, hurrying], return_when=asyncio.FIRST_COMPLETED)
        finally:
            hurrying.cancel()
            working.cancel()
            await asyncio.wait([working, hurrying])
        if not working.cancelled():
            working.result()


def stop_on_signals() -> StopRequest:
    """Return what SIGTERM (after a drain) or SIGINT sets. A second signal ends the process at once.

    SIGTERM comes from a supervisor, which has time; SIGINT from a person at a terminal.
    """
    stop = StopRequest()
    loop = asyncio.get_running_loop()

    def on_signal(request: Callable[[], None]) -> None:
        request()
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)
            # The next signal works even if the event loop is blocked.
            signal.signal(number, signal.SIG_DFL)

    loop.add_signal_handler(signal.SIGINT, on_signal, stop.now)
    loop.add_signal_handler(signal.SIGTERM, on_signal, stop.drain)
    return stop


async def run(
    app: Server, stop: StopRequest, listening: Callable[[], Coroutine[Any, Any, None] | None]
) -> None:
    """Run ``app`` until ``stop`` asks for its end; ``listening``: called when devices can connect,
    and what it returns goes on beside.

    Raises ConfigError when it cannot run at all. A provider that cannot be used is a line in the
    log, and the turns that need it fail.
    """
    raise_descriptor_limit()
    collect_rarely()
    await app.start()
    telling: asyncio.Task[None] | None = None
    try:
        if (more := listening()) is not None:
            telling = asyncio.create_task(more, name="listening")
        stopping = asyncio.create_task(stop.wait())
        loading = asyncio.create_task(app.loaded())
        await asyncio.wait([stopping, loading], return_when=asyncio.FIRST_COMPLETED)
        if loading.done():
            error = loading.exception()
            if error is None:
                _log.info("all providers are ready")
            elif not isinstance(error, ProviderError):
                raise error
            freeze_memory()
        else:
            loading.cancel()
        await stopping
        if not stop.at_once:
            await stop.unless_now(app.drain())
    finally:
        await cancel_and_wait(telling)
        await app.stop()


def warn_of_workers(settings: Settings) -> None:
    """Say that a program is one process."""
    if (workers := settings.server.workers) != 1:
        _log.warning(
            "server.workers applies to `vixio serve` only, one process serves all devices",
            extra={"workers": workers},
        )


class ServerLog:
    """Log lines for the start and the end of a server."""

    def __init__(self) -> None:
        self._running = False

    def started(self, events: EventBus, *, words: bool) -> None:
        """Log the start. ``words``: also write what is said to the log, with a warning."""
        self._running = True
        if words:
            events.attach(WordsLog())
            _log.warning(
                "logging.words is true: this log contains what users and the assistant say; "
                "restrict who can read it"
            )

    @contextmanager
    def stopping(self, devices: int) -> Iterator[None]:
        """Log that the server stops, which closes the connections of ``devices``, and that it has.

        Nothing for a server that does not run.
        """
        if not self._running:
            yield
            return
        self._running = False
        began = now()
        _log.info("server stopping", extra={"devices": devices})
        try:
            yield
        finally:
            seconds = round(now() - began, 2)
            _log.info("server stopped", extra={"devices": devices, "seconds": seconds})
