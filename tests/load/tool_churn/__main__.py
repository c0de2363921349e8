"""``python -m tests.load.tool_churn``: tools and services that change every second under turns."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import click

from tests.load.tool_churn.run import Services, render, run
from vixio_bench.nats_server import HOW_TO_GET, find_program


@click.command()
@click.option("--devices", default=50, show_default=True, help="How many change and talk.")
@click.option("--minutes", default=10.0, show_default=True, help="For how long.")
@click.option("--every", default=1.0, show_default=True, help="Seconds between two sets of tools.")
@click.option("--services", default=6, show_default=True, help="On a broker; 0: none.")
@click.option("--processes", default=1, show_default=True, help="Further ones that are killed.")
def main(devices: int, minutes: float, every: float, services: int, processes: int) -> None:
    """Start a server, change all tools of all devices again and again; status 1 on a mistake.

    Services on a NATS server come, change and go meanwhile.
    """
    if services and find_program() is None:
        click.echo(f"{HOW_TO_GET}; without services on a broker", err=True)
        services = 0
    with tempfile.TemporaryDirectory() as place:
        report = asyncio.run(
            run(
                Path(place),
                devices=devices,
                seconds=minutes * 60,
                every=every,
                services=Services(services, processes) if services else None,
                progress=lambda line: click.echo(line, err=True),
            )
        )
    click.echo(render(report))
    sys.exit(1 if report.notes.mistakes or report.errors else 0)


if __name__ == "__main__":
    main()
