"""One worker process: a Server that shares its ports, and a channel to the coordinator.

Run as ``python -m vixio.cluster.workers.process FD``; FD is its end of the socket pair. Its plan
comes as the first message, so that its arguments hold no secret.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from vixio.cluster.workers.channel import Channel
from vixio.cluster.workers.cluster import WorkerCluster
from vixio.core.cores import share_cores
from vixio.core.errors import VixioError
from vixio.core.garbage import collect_rarely
from vixio.core.tasks import cancel_and_wait


@dataclass(frozen=True, slots=True)
class Plan:
    """What a worker runs. ``config``: the settings file, empty for the embedded default."""

    number: int
    processes: int
    config: str
    host: str
    port: int
    http_port: int
    log_level: str | None
    secret: str


async def _main(descriptor: int) -> None:
    channel = await Channel.open(socket.socket(fileno=descriptor))
    first = await channel.receive()
    if first is None:
        return  # the supervisor is gone already
    await _serve(Plan(**first.body), channel)


async def _serve(plan: Plan, channel: Channel) -> None:
    share_cores(plan.processes)  # before anything asks how many threads it may have
    collect_rarely()
    from vixio import server as application
    from vixio.cluster.context import ClusterContext
    from vixio.composition.cluster import make_context
    from vixio.composition.reload import Reloader, on_hangup
    from vixio.composition.run import StopRequest
    from vixio.settings import Settings, load_layered, override
    from vixio.telemetry.logging.setup import configure_logging

    config = Path(plan.config) if plan.config else None

    def read(layer: Path | None = None, warn: Callable[[str], None] | None = None) -> Settings:
        return override(
            load_layered(config, layer=layer, warn=warn),
            host=plan.host,
            port=plan.port,
            http_port=plan.http_port,
            log_level=plan.log_level,
        )

    settings = read(warn=lambda _: None)  # the supervisor has logged it
    configure_logging(
        settings.logging.level, json=settings.logging.as_json, fields={"worker": plan.number}
    )
    cluster = WorkerCluster(plan.number, channel)
    if settings.cluster is None:
        context = ClusterContext(cluster, plan.secret, share_ports=True, worker=plan.number)
    else:  # each process is a node of its own
        context = make_context(settings, worker=plan.number)
    app = application.Server(settings, context=context)
    stop = StopRequest()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.drain)
    loop.add_signal_handler(signal.SIGINT, stop.now)
    app.reloader = Reloader(app, read)
    on_hangup(app.reloader, stop.now)
    listening = asyncio.create_task(cluster.run())
    listening.add_done_callback(lambda _: stop.now())  # the supervisor has ended
    try:
        await application.run(app, stop, lambda: cluster.ready(asdict(application.about(app))))
    finally:
        await cancel_and_wait(listening)
        await channel.close()


def main(argv: list[str]) -> int:
    """Run the process; return its exit status."""
    from vixio.telemetry.logging.setup import flush_logs

    # Of the supervisor alone, since a Ctrl-C at its terminal does not reach this session of
    # processes: end without a traceback. A worker that is starting reads the settings anyway.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
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
