"""``vixio devices``: the devices of the registry, listed and changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vixio.cli.config import ConfigGroup, config_option
from vixio.cli.registry import (
    actor,
    ago,
    local,
    table,
    the_device,
    utc,
    with_device,
    with_repository,
)
from vixio.cli.running import ask_device
from vixio.core.errors import ConfigError

if TYPE_CHECKING:
    from vixio.data.devices.records import Carrier, DeviceRecord

TIMES = (
    "first_seen",
    "last_seen",
    "claimed_at",
    "blocked_at",
    "code_at",
    "verified_at",
    "tokens_from",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Show it as JSON.")


@click.group(cls=ConfigGroup, invoke_without_command=True)
@json_option
@config_option
@click.pass_context
def devices(context: click.Context, as_json: bool, config: Path | None) -> None:
    """List the devices that are known, claim them, block them, forget them.

    Works whether or not the server runs; a running server follows within about a second.
    """
    context.obj = config
    if context.invoked_subcommand is None:
        _list(config, as_json=as_json)


@devices.command("list")
@json_option
@click.pass_obj
def list_(config: Path | None, as_json: bool) -> None:
    """List the devices that are known."""
    _list(config, as_json=as_json)


def _list(config: Path | None, *, as_json: bool) -> None:
    found = with_repository(config, lambda repository: repository.devices())
    if as_json:
        click.echo(json.dumps([_values(device) for device in found], ensure_ascii=False, indent=2))
        return
    if not found:
        click.echo("no device is known yet: enter the OTA address of the server in one")
        return
    head = ["DEVICE", "NAME", "STATE", "CODE", "BOARD", "FIRMWARE", "ADDRESS", "PROFILE"]
    head += ["PERSON", "CARRIER", "SEEN"]
    rows = [
        (
            device.id,
            device.name,
            _state(device),
            device.code or "",
            device.board,
            device.firmware,
            device.address,
            device.profile or "",
            device.person or "",
            device.carrier,
            ago(device.last_seen),
        )
        for device in found
    ]
    for line in table(head, rows):
        click.echo(line)


@devices.command()
@click.argument("device")
@json_option
@click.pass_obj
def show(config: Path | None, device: str, as_json: bool) -> None:
    """Show what is known of DEVICE: its id, the beginning of it, or its name."""
    found = the_device(config, device)
    if as_json:
        click.echo(json.dumps(_values(found), ensure_ascii=False, indent=2))
        return
    for name, value in _values(found, local).items():
        if value not in (None, "", (), 0):
            shown = ", ".join(value) if isinstance(value, tuple) else value
            click.echo(f"{name.replace('_', ' '):14} {shown}")


@devices.command()
@click.argument("code_or_device", metavar="CODE_OR_DEVICE")
@click.option("--name", default="", help="What the device is called from now on.")
@click.pass_obj
def claim(config: Path | None, code_or_device: str, name: str) -> None:
    """Let the device in that shows this code, or has this id."""
    found = with_repository(
        config, lambda repository: repository.claim(code_or_device, actor(), name)
    )
    about = " ".join(filter(None, (found.name, found.board, found.firmware)))
    click.echo(f"claimed {found.id}{f' ({about})' if about else ''}")


@devices.command()
@click.argument("device")
@click.option("--name", default="", help="What the device is called.")
@click.option("--serial", default="", help="The serial number in its eFuse.")
@click.option(
    "--key-file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File with the key in its eFuse, 64 hexadecimal digits: it has to prove that it has it.",
)
@click.pass_obj
def add(config: Path | None, device: str, name: str, serial: str, key_file: Path | None) -> None:
    """Let DEVICE in before its first visit, by its MAC address."""
    key = ""
    if key_file is not None:
        try:
            key = key_file.read_text("ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{key_file}: cannot be read as 64 hexadecimal digits") from error
    added = with_repository(
        config,
        lambda repository: repository.add(device, actor(), name=name, serial=serial, key=key),
    )
    proof = ", which has to prove who it is" if key else ""
    click.echo(f"added {added.id}{proof}")


@devices.command()
@click.argument("device")
@click.argument("name")
@click.pass_obj
def rename(config: Path | None, device: str, name: str) -> None:
    """Give DEVICE another NAME; an empty one takes it away."""
    found = with_device(
        config, device, lambda repository, its: repository.rename(its, name, actor())
    )
    click.echo(f"{found.id} is called {found.name!r}" if found.name else f"{found.id} has no name")


@devices.command()
@click.argument("device")
@click.argument("profile", default="")
@click.pass_obj
def assign(config: Path | None, device: str, profile: str) -> None:
    """Give DEVICE a PROFILE; without one, it is served as the settings say."""
    found = with_device(
        config, device, lambda repository, its: repository.assign(its, profile, actor())
    )
    served = f"has the profile {found.profile}" if found.profile else "has no profile"
    click.echo(f"{found.name or found.id} {served}")


@devices.command()
@click.argument("device")
@click.argument("person", default="")
@click.pass_obj
def give(config: Path | None, device: str, person: str) -> None:
    """Let DEVICE belong to PERSON, or to nobody.

    The devices of a person share what the assistant is asked to remember, and it knows whom it
    talks with. The conversation itself stays with the device.
    """
    found = with_device(
        config, device, lambda repository, its: repository.give(its, person, actor())
    )
    click.echo(f"{found.name or found.id} belongs to {found.person or 'nobody'}")


@devices.command()
@click.argument("device")
@click.argument("carrier", type=click.Choice(["websocket", "mqtt"]), required=False)
@click.pass_obj
def switch(config: Path | None, device: str, carrier: Carrier | None) -> None:
    """Have DEVICE come by this CARRIER from its next start; without one, as the settings say."""
    found = with_device(
        config, device, lambda repository, its: repository.switch(its, carrier or "", actor())
    )
    way = f"by {found.carrier}" if found.carrier else "as the settings say"
    click.echo(f"{found.name or found.id} comes {way} from its next start")


@devices.command()
@click.argument("device")
@click.pass_obj
def upgrade(config: Path | None, device: str) -> None:
    """Have DEVICE install now the firmware that is released to it. It restarts.

    The server has to run, and the device to be connected: `vixio firmware attempts` tells the rest.
    """
    begun = ask_device(config, the_device(config, device).id, "upgrade", b"")
    click.echo(f"it installs {begun['version']}, from {begun['from_version']}")


@devices.command()
@click.argument("device")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.pass_obj
def picture(config: Path | None, device: str, file: Path) -> None:
    """Show FILE, a PNG of up to 512 KB, on the screen of DEVICE, which has to be connected."""
    ask_device(config, the_device(config, device).id, "picture", file.read_bytes(), "image/png")
    click.echo("shown")


@devices.command()
@click.argument("device")
@click.argument("url")
@click.pass_obj
def assets(config: Path | None, device: str, url: str) -> None:
    """Have DEVICE, which has to be connected, fetch its assets from URL at its next start."""
    body = json.dumps({"url": url}).encode()
    ask_device(config, the_device(config, device).id, "assets", body)
    click.echo("it fetches them at its next start")


@devices.command()
@click.argument("device")
@click.option("--reason", default="", help="Shown by the device.")
@click.pass_obj
def block(config: Path | None, device: str, reason: str) -> None:
    """Refuse DEVICE; one that is connected is disconnected."""
    found = with_device(
        config, device, lambda repository, its: repository.block(its, reason, actor())
    )
    click.echo(f"blocked {found.id}")


@devices.command()
@click.argument("device")
@click.pass_obj
def unblock(config: Path | None, device: str) -> None:
    """Let DEVICE in again, as before."""
    found = with_device(config, device, lambda repository, its: repository.unblock(its, actor()))
    click.echo(f"unblocked {found.id}, which is {found.state}")


@devices.command()
@click.argument("device")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def forget(config: Path | None, device: str, yes: bool) -> None:
    """Remove DEVICE and its tokens. What it said stays in `vixio memory`."""
    found = the_device(config, device)
    if not yes:
        click.confirm(f"forget {found.id}{f' ({found.name})' if found.name else ''}?", abort=True)
    removed = with_repository(config, lambda repository: repository.forget(found.id, actor()))
    click.echo(f"forgot {removed}; what it said: vixio memory {removed}")


@devices.command()
@click.option("--number", default=50, show_default=True, help="How many of the last changes.")
@json_option
@click.pass_obj
def audit(config: Path | None, number: int, as_json: bool) -> None:
    """Show who changed what, the newest last."""
    changes = with_repository(config, lambda repository: repository.audit(number))
    if as_json:
        click.echo(json.dumps([asdict(change) for change in changes], ensure_ascii=False, indent=2))
        return
    rows = [
        (local(change.at), change.actor, change.action, change.target, _detail(change.detail))
        for change in changes
    ]
    for line in table(("WHEN", "WHO", "WHAT", "OF", ""), rows) if rows else ("no change yet",):
        click.echo(line)


def _detail(detail: str) -> str:
    return ", ".join(
        f"{name}: {' '.join(map(str, value)) if isinstance(value, list) else value}"
        for name, value in json.loads(detail).items()
        if value
    )


def _state(device: DeviceRecord) -> str:
    asks_anew = device.state == "claimed" and device.asking_client
    return "claimed, asks anew" if asks_anew else device.state


def _values(device: DeviceRecord, written: Callable[[int | None], str] = utc) -> dict[str, Any]:
    values = asdict(device)
    values["proves"] = "by its key" if values.pop("hmac_key") else ""
    del values["challenge"], values["granted"]
    for name in TIMES:
        values[name] = written(values[name])
    return {"id": device.id, "state": _state(device), **values}
