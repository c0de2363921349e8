"""Runs a tool service until a signal stops it."""

from __future__ import annotations

import asyncio
import inspect
import logging
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from vixio.bus.bus import ToolBus
from vixio.bus.service import ANNOUNCE_PREFIX, DynamicToolService, ServiceInstance
from vixio.bus.serving import ServingLimits
from vixio.core.errors import ConfigError

_log = logging.getLogger(__name__)


def load_service(target: str) -> DynamicToolService:
    """Return an instance of the class that ``module:Class`` names.

    The module may be a file of the working directory. Raises ConfigError, one line.
    """
    module, separator, name = target.partition(":")
    if not separator or not name or not all(module.split(".")):
        raise ConfigError(f"{target!r}: expected module:Class, as in joke:JokeService")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = import_module(module)
    except ImportError as error:
        where = f"neither {module}.py in this folder nor an installed package"
        reason = f"{error}: {where}" if getattr(error, "name", "") == module else str(error)
        raise ConfigError(f"{target}: {reason}") from error
    found = getattr(found, name, None)
    if not isinstance(found, type) or not issubclass(found, DynamicToolService):
        raise ConfigError(
            f"{target}: {name} is not a subclass of vixio.bus.DynamicToolService: write "
            f"class {name}(DynamicToolService)"
        )
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise ConfigError(f"{target}: {name} has no method {missing}")
    try:
        inspect.signature(found).bind()
    except TypeError as error:
        raise ConfigError(f"{target}: {name} has to be made without arguments: {error}") from error
    return found()


async def run_service(
    service: DynamicToolService,
    bus: ToolBus,
    *,
    limits: ServingLimits | None = None,
    announce: str = ANNOUNCE_PREFIX,
    grace: float = 10.0,
    stop: asyncio.Event | None = None,
) -> None:
    """Serve until ``stop`` is set, or SIGINT or SIGTERM comes where it is not given.

    Calls at work get ``grace`` seconds to end; a second signal ends them at once.
    """
    if stop is None:
        stop = asyncio.Event()
        _stop_by_signals(stop)
    instance = ServiceInstance(service, bus, limits=limits, announce=announce)
    bus.broker.watchers.append(_Reporter(service.service_id))
    try:
        await instance.start()
        await bus.start()
        await stop.wait()
        _log.info("tool service stopping", extra={"service": service.service_id})
        await instance.stop(grace)
    finally:
        await bus.close()
    counted = {
        name.removeprefix("service."): number
        for name, number in sorted(bus.counters.snapshot().items())
        if name.startswith("service.")
    }
    _log.info("tool service stopped", extra={"service": service.service_id, **counted})


class _Reporter:
    """Logs that the service can be called."""

    def __init__(self, service: str) -> None:
        self._service = service

    def __call__(self, up: bool) -> None:
        if up:
            _log.info("tool service ready", extra={"service": self._service})


def _stop_by_signals(stop: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()

    def requested() -> None:
        if stop.is_set() and task is not None:
            task.cancel()
        stop.set()

    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, requested)
