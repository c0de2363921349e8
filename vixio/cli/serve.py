"""``vixio serve``: runs the server, in one process or several, until a signal stops it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vixio.cli.config import choose_config, config_option
from vixio.core.garbage import collect_as_usual, collect_rarely

if TYPE_CHECKING:
    from vixio.composition.reload import ReadSettings
    from vixio.settings import Settings

LEVELS = ("TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

_log = logging.getLogger(__name__)


@click.command()
@config_option
@click.option("--host", metavar="ADDRESS", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), help="Port of the WebSocket; 0: any.")
@click.option("--http-port", type=click.IntRange(0, 65_535), help="Port of OTA; 0: any.")
@click.option(
    "--workers",
    metavar="N|auto",
    help="Processes that share the ports; auto: as many as cores and memory allow.",
)
@click.option("--log-level", type=click.Choice(LEVELS, case_sensitive=False), help="What to log.")
def serve(
    config: Path | None,
    host: str | None,
    port: int | None,
    http_port: int | None,
    workers: str | None,
    log_level: str | None,
) -> None:
    """Run the server.

    Ctrl-C stops it in order, SIGTERM once devices have finished speaking (timeouts.drain), a second
    one at once. SIGHUP has it read the settings file
    again: devices, assistant, the providers of both, MCP servers.
    """
    collect_rarely()  # nearly all that is imported and made from here on stays
    click.get_current_context().call_on_close(collect_as_usual)
    from vixio.composition.languages import log_gaps
    from vixio.settings import load_layered, override
    from vixio.telemetry.logging.setup import configure_logging, flush_logs

    path, source = choose_config(config)

    left_out: list[str] = []

    def read(layer: Path | None = None, warn: Callable[[str], None] | None = None) -> Settings:
        return override(
            load_layered(path, layer=layer, warn=warn),
            host=host,
            port=port,
            http_port=http_port,
            workers=workers,
            log_level=log_level,
        )

    settings = read(warn=left_out.append)
    configure_logging(settings.logging.level, json=settings.logging.as_json)
    _log.info("settings loaded", extra={"source": source})
    for line in left_out:
        _log.error("what was changed in the console is not in force", extra={"reason": line})
    log_gaps(settings)
    processes = _processes(settings)
    try:
        if processes == 1:
            asyncio.run(_serve_alone(settings, source, read))
        else:
            asyncio.run(_supervise(settings, source, path, processes, log_level))
    finally:
        flush_logs()


def _processes(settings: Settings) -> int:
    """Return how many processes to start, and log why if that was left to us."""
    if settings.server.workers != "auto":
        return settings.server.workers
    from vixio.cluster.workers.choice import choose_processes

    choice = choose_processes(settings)
    _log.info(
        "number of processes chosen",
        extra={"processes": choice.processes, "reason": choice.reason},
    )
    return choice.processes


async def _serve_alone(settings: Settings, source: str, read: ReadSettings) -> None:
    from vixio import server
    from vixio.composition.run import stop_on_signals

    await server.serve(settings, source, stop_on_signals(), read)


async def _supervise(
    settings: Settings, source: str, config: Path | None, processes: int, log_level: str | None
) -> None:
    from vixio.cli.banner import banner
    from vixio.cluster.workers.supervisor import Request, Supervisor
    from vixio.composition.reload import on_hangup
    from vixio.composition.run import stop_on_signals

    collect_as_usual()
    stop = stop_on_signals()
    request = Request(settings, config, processes, log_level)
    supervisor = Supervisor(request, lambda about: click.echo(banner(about, source)))
    on_hangup(supervisor.reload, stop.now)
    await supervisor.run(stop)
