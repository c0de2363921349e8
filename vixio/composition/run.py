"""Runs a server from its start to its end, as a process does."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from typing import Protocol

from vixio.core.errors import ProviderError
from vixio.core.garbage import collect_rarely, freeze_memory
from vixio.transports.admission.listener import raise_descriptor_limit

_log = logging.getLogger(__name__)


STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Application(Protocol):
    """A server."""

    async def start(self) -> None: ...
    async def loaded(self) -> None: ...
    async def stop(self) -> None: ...


def stop_on_signals() -> asyncio.Event:
    """Return an event that SIGINT or SIGTERM sets. A second signal ends the process at once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        stop.set()
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)
            # The next signal works even if the event loop is blocked.
            signal.signal(number, signal.SIG_DFL)

    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, on_signal)
    return stop


async def run(app: Application, stop: asyncio.Event, listening: Callable[[], None]) -> None:
    """Run ``app`` until ``stop`` is set; ``listening`` is called when devices can connect.

    Raises ConfigError when it cannot run at all. A provider that cannot be used is a line in the
    log, and the turns that need it fail.
    """
    raise_descriptor_limit()
    collect_rarely()
    await app.start()
    try:
        listening()
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
    finally:
        await app.stop()
