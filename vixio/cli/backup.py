"""``vixio export`` and ``vixio restore``: a server's data as one file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vixio.cli.config import config_option

if TYPE_CHECKING:
    from vixio.data.backup.server import Place

file_argument = click.argument("file", type=click.Path(dir_okay=False, path_type=Path))


@click.command()
@file_argument
@click.option("--force", is_flag=True, help="Overwrite FILE if it is there.")
@config_option
def export(file: Path, force: bool, config: Path | None) -> None:
    """Write the registry, the memory, the secret and the firmware to FILE (.tar.gz).

    The server may run meanwhile. Keep FILE to yourself: it has conversations and the secret that
    signs tokens. The settings are not in it.
    """
    from vixio.data.backup.archive import BackupError
    from vixio.data.backup.server import export as write

    if file.exists() and not force:
        raise BackupError(f"{file} is there already: choose another name, or --force")
    found = _at(config, lambda place: write(place, file))
    click.echo(f"wrote {file}, {file.stat().st_size:,} bytes: {_told(found)}")


@click.command()
@file_argument
@config_option
def restore(file: Path, config: Path | None) -> None:
    """Read what `vixio export` wrote to FILE, into the empty places that the settings name.

    The databases may be of another kind than those that it was written from. Stop the server first.
    """
    from vixio.data.backup.server import restore as read

    click.echo(f"restored {_told(_at(config, lambda place: read(place, file)))}")


def _told(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {what}" for what, number in numbers.items())


def _at(
    config: Path | None, work: Callable[[Place], Awaitable[Mapping[str, int]]]
) -> Mapping[str, int]:
    async def opened() -> Mapping[str, int]:
        async with _place(config) as place:
            return await work(place)

    return asyncio.run(opened())


@asynccontextmanager
async def _place(config: Path | None) -> AsyncIterator[Place]:
    """Open what the settings name."""
    from vixio.cli.speech import quiet_settings
    from vixio.composition.registry import data_folder, opened_database
    from vixio.data.backup.server import Place

    settings = quiet_settings(config)
    async with opened_database(settings) as database:
        yield Place(data_folder(settings), database)
