"""``python -m tests.load.tool_churn``: tools that change every second under running turns."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import click

from tests.load.tool_churn.run import render, run


@click.command()
@click.option("--devices", default=50, show_default=True, help="How many change and talk.")
@click.option("--minutes", default=10.0, show_default=True, help="For how long.")
@click.option("--every", default=1.0, show_default=True, help="Seconds between two sets of tools.")
def main(devices: int, minutes: float, every: float) -> None:
    """Start a server, change all tools of all devices again and again; status 1 on a mistake."""
    with tempfile.TemporaryDirectory() as place:
        report = asyncio.run(
            run(
                Path(place),
                devices=devices,
                seconds=minutes * 60,
                every=every,
                progress=lambda line: click.echo(line, err=True),
            )
        )
    click.echo(render(report))
    sys.exit(1 if report.notes.mistakes or report.errors else 0)


if __name__ == "__main__":
    main()
