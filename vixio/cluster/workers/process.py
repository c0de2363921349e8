"""One worker process: a Server that shares its ports, and a channel to the coordinator.

Run as ``python -m vixio.cluster.workers.process FD``; FD is its end of the socket pair. Its plan
comes as the first message, so that its arguments hold no secret.
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

from vixio.cluster.workers.channel import MAX_LINE, Channel
from vixio.cluster.workers.cluster import WorkerCluster
from vixio.core.cores import share_cores
from vixio.core.errors import VixioError


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


async def _connect(descriptor: int) -> Channel:
    ours = socket.socket(fileno=descriptor)
    ours.setblocking(False)
    return Channel(*await asyncio.open_connection(sock=ours, limit=MAX_LINE))


async def _main(descriptor: int) -> None:
    channel = await _connect(descriptor)
    first = await channel.receive()
    if first is None:
        return  # the supervisor is gone already
    await _serve(Plan(**first[1]), channel)


async def _serve(plan: Plan, channel: Channel) -> None:
    share_cores(plan.processes)  # before anything asks how many threads it may have
    from loguru import logger

    from vixio import server as application
    from vixio.cluster.context import ClusterContext
    from vixio.cluster.workers.health import merge_health
    from vixio.logging.setup import configure_logging
    from vixio.settings import load_settings, override

    settings = override(
        load_settings(Path(plan.config) if plan.config else None),
        host=plan.host,
        port=plan.port,
        http_port=plan.http_port,
        log_level=plan.log_level,
    )
    configure_logging(settings.logging.level, json=settings.logging.as_json)
    logger.configure(extra={"worker": plan.number})
    link = WorkerCluster(channel)

    async def health() -> dict[str, Any]:
        return merge_health(await link.health())

    app = application.Server(
        settings, context=ClusterContext(link, plan.secret, share_ports=True, cluster_health=health)
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
        await channel.close()


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
