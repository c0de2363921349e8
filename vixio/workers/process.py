"""One worker process: a Server that shares its ports, and a link to the supervisor's hub.

Run as ``python -m vixio.workers.process FD``, FD being its end of the socket pair. What it is to be
comes as the first message, so no secret stands among its arguments.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vixio.core.cores import share_cores
from vixio.core.errors import VixioError
from vixio.workers.link import LinkedNeighbours
from vixio.workers.wire import MAX_LINE, Wire


@dataclass(frozen=True, slots=True)
class Plan:
    """What a worker is to be. ``config``: the settings file, empty for the embedded default."""

    number: int
    processes: int
    config: str
    host: str
    port: int
    http_port: int
    log_level: str | None
    secret: str

    def to_json(self) -> dict[str, Any]:
        """Return the plan as it travels."""
        return asdict(self)


async def _connect(descriptor: int) -> Wire:
    ours = socket.socket(fileno=descriptor)
    ours.setblocking(False)
    return Wire(*await asyncio.open_connection(sock=ours, limit=MAX_LINE))


async def _main(descriptor: int) -> None:
    wire = await _connect(descriptor)
    first = await wire.receive()
    if first is None:
        return  # the supervisor is gone already
    await _serve(Plan(**first[1]), wire)


async def _serve(plan: Plan, wire: Wire) -> None:
    share_cores(plan.processes)  # before anything asks how many threads it may have
    from loguru import logger

    from vixio import server as application
    from vixio.logging.setup import configure_logging
    from vixio.place import Place
    from vixio.settings import load_settings, override
    from vixio.workers.health import whole

    settings = override(
        load_settings(Path(plan.config) if plan.config else None),
        host=plan.host,
        port=plan.port,
        http_port=plan.http_port,
        log_level=plan.log_level,
    )
    configure_logging(settings.logging.level, json=settings.logging.as_json)
    logger.configure(extra={"worker": plan.number})
    link = LinkedNeighbours(wire)

    async def health() -> dict[str, Any]:
        return whole(await link.health())

    app = application.Server(
        settings, place=Place(link, plan.secret, share_ports=True, whole_health=health)
    )
    link.own_health = lambda: {**app.health(), "worker": plan.number, "pid": os.getpid()}
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    listening = asyncio.create_task(link.run())
    listening.add_done_callback(lambda _: stop.set())  # nobody is left to serve for
    try:
        await application.run(app, stop, lambda: link.ready(asdict(application.about(app))))
    finally:
        listening.cancel()
        await asyncio.wait([listening])
        await wire.close()


def main(argv: list[str]) -> int:
    """Run the process; return its exit status."""
    from vixio.logging.setup import flush_logs

    # Ctrl-C in a terminal is the supervisor's to handle.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        asyncio.run(_main(int(argv[0])))
    except VixioError as error:
        sys.stderr.write(f"vixio: {' '.join(str(error).split())}\n")
        return 2
    finally:
        flush_logs()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
