"""``vixio tokens``: the tokens of devices, listed and revoked."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from vixio.cli.config import ConfigGroup, config_option
from vixio.cli.devices import json_option
from vixio.cli.registry import actor, ago, local, table, with_repository


@click.group(cls=ConfigGroup, invoke_without_command=True)
@config_option
@click.pass_context
def tokens(context: click.Context, config: Path | None) -> None:
    """List and revoke the tokens by which devices connect."""
    context.obj = config
    if context.invoked_subcommand is None:
        _list(config, "", as_json=False)


@tokens.command("list")
@click.argument("device", default="")
@json_option
@click.pass_obj
def list_(config: Path | None, device: str, as_json: bool) -> None:
    """List the tokens of DEVICE, or of all."""
    _list(config, device, as_json=as_json)


def _list(config: Path | None, device: str, *, as_json: bool) -> None:
    from vixio.core.wall_clock import now_ms

    found = with_repository(config, lambda repository: repository.tokens(device))
    if as_json:
        click.echo(json.dumps([asdict(token) for token in found], indent=2))
        return
    if not found:
        click.echo("no token was issued: devices need one with server.access or server.auth")
        return
    head = ("TOKEN", "DEVICE", "STATE", "ISSUED", "FIRST USED", "EXPIRES")
    rows = [
        (
            token.id,
            token.device_id,
            token.state(now_ms()),
            ago(token.issued_at),
            ago(token.used_at),
            local(token.expires_at),
        )
        for token in found
    ]
    for line in table(head, rows):
        click.echo(line)


@tokens.command()
@click.argument("token", default="")
@click.option("--device", default="", help="Revoke all tokens of this device instead.")
@click.pass_obj
def revoke(config: Path | None, token: str, device: str) -> None:
    """Make TOKEN void; a device that is connected with it is disconnected."""
    if bool(token) == bool(device):
        raise click.UsageError("name a TOKEN, or --device DEVICE")
    if device:
        found = with_repository(
            config, lambda repository: repository.revoke_tokens(device, actor())
        )
        click.echo(f"revoked all tokens of {found.id}; it gets another one when it boots")
    else:
        with_repository(config, lambda repository: repository.revoke_token(token, actor()))
        click.echo(f"revoked {token}")
