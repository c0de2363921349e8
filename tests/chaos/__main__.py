"""``python -m tests.chaos``: break the server on purpose and print what it felt."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

import click

from tests.chaos.run import run
from tests.chaos.table import render


@click.command()
@click.option("--short", is_flag=True, help="The short form: groups of attacks side by side.")
@click.option("--only", default="", help="Attacks whose name or group contains this.")
@click.option("--devices", default=8, show_default=True, help="Healthy devices in conversation.")
@click.option("--seed", default=1, show_default=True, help="Of everything random.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of the table.")
@click.option("--log", type=click.Path(path_type=Path), help="Keep the server's log here.")
def main(short: bool, only: str, devices: int, seed: int, as_json: bool, log: Path | None) -> None:
    """Attack a server of its own while healthy devices talk to it; status 1 if any was harmed."""
    began = time.monotonic()

    def progress(what: str) -> None:
        click.echo(f"{time.monotonic() - began:6.1f} s  {what[:100]}", err=True)

    with tempfile.TemporaryDirectory() as place:
        report = asyncio.run(
            run(
                log or Path(place) / "server.log",
                long=not short,
                devices=devices,
                seed=seed,
                only=only,
                progress=progress,
            )
        )
    click.echo(json.dumps(report.to_json(), indent=1) if as_json else render(report))
    sys.exit(0 if report.passed else 1)


if __name__ == "__main__":
    main()
