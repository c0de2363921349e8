"""``vixio check``: tries every part of a configuration."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vixio.cli.config import choose_config, colour, config_option
from vixio.cli.status import StatusLine

if TYPE_CHECKING:
    from vixio.cli.diagnostics.check import Part
    from vixio.cli.diagnostics.row import Row


@click.command()
@config_option
@click.option(
    "--live",
    is_flag=True,
    help="Use TTS, VAD, ASR, agent, vision and tool sources once: what a turn would take. "
    "Services are really asked. Exit status 1 if anything fails.",
)
def check(config: Path | None, live: bool) -> None:
    """Try every part of a configuration.

    One line each; exit status 0 if all work, else 2.
    """
    from vixio.telemetry.logging.setup import configure_logging, flush_logs

    configure_logging("CRITICAL" if live else "ERROR")  # what fails stands in its line
    path, source = choose_config(config)
    try:
        status = _used(path) if live else _tried(path, source)
    finally:
        flush_logs()
    if status:
        raise click.exceptions.Exit(status)


def _tried(path: Path | None, source: str) -> int:
    from vixio.cli.diagnostics.check import check_all

    def show(part: Part) -> None:
        # click removes the colour where standard output is no terminal.
        click.echo(
            f"{part.name:<10} {_verdict(part.ok, part.remark)}  {part.detail}", color=colour()
        )

    return 0 if asyncio.run(check_all(path, source, show)) else 2


def _verdict(ok: bool, remark: bool = False) -> str:
    if remark:
        return click.style("warn  ", fg="yellow")
    return click.style("ok    ", fg="green") if ok else click.style("FAILED", fg="red")


def _used(path: Path | None) -> int:
    from vixio.cli.diagnostics.live import check_live
    from vixio.settings import load_layered

    settings = load_layered(path)
    click.echo(HEADING)
    with StatusLine() as status:

        def show(row: Row) -> None:
            status.clear()
            click.echo(row_line(row), color=colour())

        return 0 if asyncio.run(check_live(settings, show, status.show, path=path)) else 1


HEADING = f"{'part':<8}{'':8}{'provider':<20}{'ready':>9}{'first':>9}{'total':>9}"


def row_line(row: Row) -> str:
    """Return the line of a part that was used, under :data:`HEADING`.

    That of ``tools.home`` begins with ``tools``: the source is the provider.
    """
    times = "".join(map(_seconds, (row.ready, row.first, row.total)))
    part = row.part.partition(".")[0]
    return f"{part:<8}{_verdict(row.ok, row.warn)}  {row.provider:<20}{times}  {row.detail}"


def _seconds(seconds: float | None) -> str:
    return f"{'':>9}" if seconds is None else f"{seconds:>7.3f} s"
