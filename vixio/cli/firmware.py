"""``vixio firmware``: add images, release them to devices, and see what became of it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from vixio.cli.config import ConfigGroup, config_option
from vixio.cli.devices import json_option
from vixio.cli.registry import actor

if TYPE_CHECKING:
    from vixio.data.devices.firmware.attempts import Attempt
    from vixio.data.devices.firmware.folder import StoredImage
    from vixio.data.devices.firmware.manager import FirmwareManager
    from vixio.data.devices.firmware.offer import Release
    from vixio.data.devices.records import DeviceRecord

T = TypeVar("T")

Work = Callable[["FirmwareManager", Sequence["DeviceRecord"]], Awaitable[T]]
"""Gets the devices that are known as well."""


def _board_option(words: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return click.option("--board", metavar="NAME", default="", help=words)


_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")

_which_board = _board_option("Needed if several boards have this version.")


@click.group(cls=ConfigGroup, invoke_without_command=True)
@json_option
@config_option
@click.pass_context
def firmware(context: click.Context, as_json: bool, config: Path | None) -> None:
    """Update the firmware of devices; without a command: list what there is.

    Devices are offered a released image when they start. Works whether or not the server runs; a
    running server follows at once.
    """
    context.obj = config
    if context.invoked_subcommand is None:
        _list(config, "", as_json=as_json)


@firmware.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@_board_option("Refuse an image for another board (default: take the image's own).")
@click.pass_obj
def add(config: Path | None, file: Path, board: str) -> None:
    """Check the image FILE, a xiaozhi.bin, and keep a copy.

    No device gets it before it is released.
    """
    from vixio.cli.firmware_lines import size_of

    async def do(
        manager: FirmwareManager, known: Sequence[DeviceRecord]
    ) -> tuple[StoredImage, bool]:
        stored = await manager.add(file, board, actor())
        return stored, any(each.board == stored.board for each in known)

    stored, seen = _run(config, do)
    assert stored.image is not None  # noqa: S101 - add() gives checked ones
    image = stored.image
    click.echo(f"added {stored.version} for {stored.board} ({image.chip}, {size_of(image.size)})")
    if not seen:
        click.echo(f"vixio: no device with the board {stored.board} has been here yet", err=True)
    click.echo(
        "no device gets it yet; for all of them: "
        f"vixio firmware release {stored.version} --board {stored.board} --percent 100"
    )


@firmware.command("list")
@_board_option("Only of this board.")
@json_option
@click.pass_obj
def list_(config: Path | None, board: str, as_json: bool) -> None:
    """List images, their releases, and how devices fare."""
    _list(config, board, as_json=as_json)


def _list(config: Path | None, board: str, *, as_json: bool) -> None:
    from vixio.cli import firmware_lines as lines

    found = _run(config, lambda manager, _: manager.listing(board))
    if as_json:
        _json([lines.listed_as_json(each) for each in found])
    elif not found:
        click.echo("there is no firmware; to add some: vixio firmware add build/xiaozhi.bin")
    else:
        _echo(lines.listing(found))


@firmware.command()
@click.argument("version")
@_which_board
@json_option
@click.pass_obj
def show(config: Path | None, version: str, board: str, as_json: bool) -> None:
    """Show what is known of the image VERSION."""
    from vixio.cli import firmware_lines as lines

    found = _run(config, lambda manager, _: manager.find(version, board))
    if as_json:
        _json(lines.listed_as_json(found))
    else:
        _echo(lines.details(found))


@firmware.command()
@click.argument("version")
@_which_board
@click.option(
    "--percent", type=float, metavar="N", help="To N of a hundred devices, always the same ones."
)
@click.option(
    "--device", "wanted", metavar="DEVICE", multiple=True, help="To this device, an id or a name."
)
@click.option("--force", is_flag=True, help="Once to each of them even if it is not newer.")
@click.option("--retry", is_flag=True, help="Also to devices on which it failed too often.")
@click.pass_obj
def release(
    config: Path | None,
    version: str,
    board: str,
    percent: float | None,
    wanted: tuple[str, ...],
    force: bool,
    retry: bool,
) -> None:
    """Offer VERSION to devices when they start.

    Replaces what was said of this image before. With --force, devices go back to an older version,
    or to another build of the same one, and are not offered what was released before.
    """
    from vixio.cli.firmware_lines import described

    async def do(
        manager: FirmwareManager, known: Sequence[DeviceRecord]
    ) -> tuple[Release, list[str]]:
        ids = [_device(each, known) for each in wanted]
        listed = await manager.find(version, board)
        record = await manager.release(
            listed.board,
            version,
            actor(),
            percent=percent or 0.0,
            devices=ids,
            force=force,
            retry=retry,
        )
        return record.release, list(_doubts(ids, listed.board, known))

    released, doubts = _run(config, do)
    for doubt in doubts:
        click.echo(f"vixio: {doubt}", err=True)
    click.echo(f"released {version} of {released.board} to {described(released)}")


@firmware.command()
@click.argument("version")
@_which_board
@click.pass_obj
def pause(config: Path | None, version: str, board: str) -> None:
    """Offer VERSION to no further device for now."""
    _pause(config, version, board, paused=True)


@firmware.command()
@click.argument("version")
@_which_board
@click.pass_obj
def resume(config: Path | None, version: str, board: str) -> None:
    """Offer VERSION again, as before the pause."""
    _pause(config, version, board, paused=False)


@firmware.command()
@click.argument("version")
@_which_board
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def remove(config: Path | None, version: str, board: str, yes: bool) -> None:
    """Take VERSION back and delete its image.

    Devices that run it keep it, and what is on record of them stays.
    """
    found = _run(config, lambda manager, _: manager.find(version, board))
    if not yes:
        click.confirm(f"remove {version} of {found.board}?", abort=True)
    _run(config, lambda manager, _: manager.remove(found.board, version, actor()))
    click.echo(f"removed {version} of {found.board}")


@firmware.command()
@click.option("--device", "wanted", metavar="DEVICE", default="", help="Only of this device.")
@_board_option("Only of this board.")
@click.option("--version", metavar="VERSION", default="", help="Only to this version.")
@click.option(
    "--number", type=click.IntRange(1, 100_000), default=50, show_default=True, help="How many."
)
@json_option
@click.pass_obj
def attempts(
    config: Path | None, wanted: str, board: str, version: str, number: int, as_json: bool
) -> None:
    """List the updates of devices, the newest first."""
    from vixio.cli import firmware_lines as lines

    async def do(manager: FirmwareManager, known: Sequence[DeviceRecord]) -> Sequence[Attempt]:
        device_id = _device(wanted, known) if wanted else ""
        return await manager.attempts(
            device_id=device_id, board=board, version=version, limit=number
        )

    found = _run(config, do)
    if as_json:
        _json([asdict(each) for each in found])
    elif not found:
        click.echo("no device was offered an update")
    else:
        _echo(lines.attempts(found))


def _pause(config: Path | None, version: str, board: str, *, paused: bool) -> None:
    async def do(manager: FirmwareManager, _: Sequence[DeviceRecord]) -> Release:
        listed = await manager.find(version, board)
        return (await manager.pause(listed.board, version, actor(), paused=paused)).release

    found = _run(config, do)
    click.echo(f"{'paused' if paused else 'resumed'} {version} of {found.board}")


def _device(wanted: str, known: Sequence[DeviceRecord]) -> str:
    """Return the id of a device, which may be given by its name.

    A device that has not been here yet may be given by its MAC address. Raises RegistryError.
    """
    from vixio.core.device import normalise_device_id
    from vixio.data.devices.records import RegistryError

    device_id = normalise_device_id(wanted)
    by_id = {each.id for each in known}
    named = [each.id for each in known if each.name.casefold() == wanted.strip().casefold() != ""]
    if device_id in by_id or (not named and _MAC.fullmatch(device_id)):
        return device_id
    if len(named) == 1:
        return named[0]
    raise RegistryError(
        f"{len(named)} devices are called {wanted!r}: use the id of one of them"
        if named
        else f"no device {wanted!r} is known: `vixio devices` lists them"
    )


def _doubts(ids: Iterable[str], board: str, known: Iterable[DeviceRecord]) -> Iterable[str]:
    """Yield what may be wrong with the devices of a release."""
    by_id = {each.id: each for each in known}
    for device_id in ids:
        device = by_id.get(device_id)
        if device is None:
            yield f"{device_id} has not been here yet"
        elif device.board and device.board != board:
            yield f"{device_id} has the board {device.board}: it is not offered this image"


def _run(config: Path | None, work: Work[T]) -> T:
    """Do something with the images and the database of the settings."""
    from vixio.cli.speech import quiet_settings
    from vixio.composition.firmware import firmware_folder
    from vixio.composition.registry import opened_database
    from vixio.data.devices.firmware.manager import FirmwareManager
    from vixio.data.devices.repository import DeviceRepository

    async def do() -> T:
        settings = quiet_settings(config)
        async with opened_database(settings) as database:
            manager = FirmwareManager(database, firmware_folder(settings))
            return await work(manager, await DeviceRepository(database).devices())

    return asyncio.run(do())


def _echo(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)


def _json(value: object) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))
