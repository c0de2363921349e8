"""``vixio access-points``: the addresses at which users' own MCP servers connect."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vixio.cli.config import ConfigGroup, config_option
from vixio.cli.devices import json_option
from vixio.cli.registry import actor, ago, table, the_device, with_repository

if TYPE_CHECKING:
    from vixio.core.tools.source import Scope


@click.group("access-points", cls=ConfigGroup, invoke_without_command=True)
@json_option
@config_option
@click.pass_context
def access_points(context: click.Context, as_json: bool, config: Path | None) -> None:
    """Create, list and revoke the addresses at which MCP servers of users connect.

    A profile, or a device, has one; its tools are those of the servers that are connected to it.
    Works whether or not the server runs, which takes a change into account within a second.
    """
    context.obj = config
    if context.invoked_subcommand is None:
        _list(config, as_json=as_json)


@access_points.command("list")
@json_option
@click.pass_obj
def list_(config: Path | None, as_json: bool) -> None:
    """List the access points. The console shows which servers are connected."""
    _list(config, as_json=as_json)


@access_points.command()
@click.option("--profile", default="", help="Whose it is: a profile.")
@click.option("--device", default="", help="Whose it is: a device.")
@click.option("--qr", is_flag=True, help="Show it as a QR code too.")
@click.pass_obj
def create(config: Path | None, profile: str, device: str, qr: bool) -> None:
    """Make an address and print it. It is shown this once; an earlier one is void."""
    from vixio.cli.banner import expected, urls
    from vixio.cli.speech import quiet_settings
    from vixio.data.devices.access_points import address

    scope = _scope(config, profile, device)
    _, token = with_repository(
        config, lambda repository: repository.access_points.create(scope, actor())
    )
    url = address(urls(expected(quiet_settings(config)))[0], token)
    click.echo("set it as MCP_ENDPOINT of mcp_pipe.py, or connect another MCP server to:", err=True)
    click.echo(url)
    if qr:
        import segno

        segno.make(url, error="m", micro=False).terminal(compact=True)


@access_points.command()
@click.option("--profile", default="", help="Whose it is: a profile.")
@click.option("--device", default="", help="Whose it is: a device.")
@click.pass_obj
def revoke(config: Path | None, profile: str, device: str) -> None:
    """Make an address void; servers that are connected to it are disconnected."""
    scope = _scope(config, profile, device)
    with_repository(config, lambda repository: repository.access_points.revoke(scope, actor()))
    click.echo("revoked")


def _scope(config: Path | None, profile: str, device: str) -> Scope:
    from vixio.core.tools.source import Scope

    if bool(profile) == bool(device):
        raise click.UsageError("name --profile PROFILE or --device DEVICE")
    return Scope(device=the_device(config, device).id) if device else Scope(profile=profile)


def _list(config: Path | None, *, as_json: bool) -> None:
    from vixio.data.devices.access_points import owner

    found = with_repository(config, lambda repository: repository.access_points.all())
    if as_json:
        rows = [{**asdict(each.scope), "created_at": each.created_at} for each in found]
        click.echo(json.dumps(rows, indent=2))
    elif not found:
        click.echo("there are none: `vixio access-points create --profile NAME` makes one")
    else:
        lines = [(owner(each.scope), ago(each.created_at), each.created_by) for each in found]
        for line in table(("OF", "MADE", "BY"), lines):
            click.echo(line)
