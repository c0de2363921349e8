"""``vixio api-tokens``, ``api-password`` and ``console``: who may use the HTTP API."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from vixio.cli.config import ConfigGroup, config_option
from vixio.cli.devices import json_option
from vixio.cli.registry import actor, ago, local, table
from vixio.core.errors import ConfigError

if TYPE_CHECKING:
    from vixio.web.api.keys import KeyRecord, Keys

T = TypeVar("T")


def _with_keys(config: Path | None, work: Callable[[Keys], Awaitable[T]]) -> T:
    """Open the registry of the settings, do ``work``, and close it. Raises VixioError."""
    from vixio.cli.speech import quiet_settings
    from vixio.composition.registry import opened_database
    from vixio.web.api.keys import Keys

    async def opened() -> T:
        async with opened_database(quiet_settings(config)) as database:
            return await work(Keys(database))

    return asyncio.run(opened())


@click.group("api-tokens", cls=ConfigGroup, invoke_without_command=True)
@json_option
@config_option
@click.pass_context
def api_tokens(context: click.Context, as_json: bool, config: Path | None) -> None:
    """Create, list and revoke personal tokens for the HTTP API.

    Those of devices: `vixio tokens`. Works whether or not the server runs.
    """
    context.obj = config
    if context.invoked_subcommand is None:
        _list(config, as_json=as_json)


@api_tokens.command()
@click.option("--name", required=True, help="What it is for; shown in lists and the audit trail.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    help="What it permits: devices:read, devices:write, control, user-tools, conversations:read, "
    "conversations:write, profiles, reminders, firmware, admin. Repeat it for several.",
)
@click.option(
    "--days", type=click.IntRange(1, 3_650), help="How long it is valid (default: until revoked)."
)
@click.pass_obj
def create(config: Path | None, name: str, scopes: Sequence[str], days: int | None) -> None:
    """Create a token and print it. It is shown this once."""
    from vixio.web.api.scopes import read_scopes

    wanted = read_scopes(scopes)
    record, text = _with_keys(config, lambda keys: keys.create(name, wanted, actor(), days=days))
    until = f", until {local(record.expires_at)}" if record.expires_at else ""
    click.echo(f"token {record.id} ({', '.join(sorted(record.scopes))}{until}):", err=True)
    click.echo(text)


@api_tokens.command("list")
@json_option
@click.pass_obj
def list_(config: Path | None, as_json: bool) -> None:
    """List the personal tokens."""
    _list(config, as_json=as_json)


@api_tokens.command()
@click.argument("token")
@click.pass_obj
def revoke(config: Path | None, token: str) -> None:
    """Make TOKEN, an id of the list, void at once."""
    _with_keys(config, lambda keys: keys.revoke(token, actor()))
    click.echo(f"revoked {token}")


@click.command("api-password")
@click.option("--ask", is_flag=True, help="Ask for the password instead of making a random one.")
@config_option
def api_password(ask: bool, config: Path | None) -> None:
    """Set another password for the login `admin` of the API, and print it. Ends all logins."""
    from vixio.cli.speech import quiet_settings
    from vixio.composition.registry import data_folder
    from vixio.web.api.first_login import forget_first_password
    from vixio.web.api.passwords import hash_password, new_password

    if ask:
        password = click.prompt("password", hide_input=True, confirmation_prompt=True)
    else:
        password = new_password()

    async def change(keys: Keys) -> None:
        await keys.set_password(await hash_password(password), actor())

    _with_keys(config, change)
    forget_first_password(data_folder(quiet_settings(config)))
    click.echo("the password of admin is set" if ask else password)


@click.command("console")
@config_option
def console(config: Path | None) -> None:
    """Print a link that signs in to the web console, once and within 15 minutes.

    Whoever has it may do everything there. It works while the server runs.
    """
    from vixio.cli.banner import console_url, expected
    from vixio.cli.speech import quiet_settings

    about = expected(quiet_settings(config))
    if not about.console:
        raise ConfigError("the console is off: see api.enabled and api.console in the settings")
    link = _with_keys(config, lambda keys: keys.make_link(actor()))
    click.echo(console_url(about, link))


def _list(config: Path | None, *, as_json: bool) -> None:
    from vixio.core.wall_clock import now_ms

    found = _with_keys(config, lambda keys: keys.all())
    if as_json:
        click.echo(json.dumps([_values(token) for token in found], ensure_ascii=False, indent=2))
        return
    if not found:
        click.echo("no token yet: vixio api-tokens create --name phone --scope devices:read")
        return
    head = ("TOKEN", "NAME", "STATE", "SCOPES", "CREATED", "LAST USED", "EXPIRES")
    rows = [
        (
            token.id,
            token.name,
            token.state(now_ms()),
            " ".join(sorted(token.scopes)),
            ago(token.created_at),
            ago(token.used_at),
            local(token.expires_at),
        )
        for token in found
    ]
    for line in table(head, rows):
        click.echo(line)


def _values(token: KeyRecord) -> dict[str, Any]:
    return {
        "id": token.id,
        "name": token.name,
        "scopes": sorted(token.scopes),
        "created_at": token.created_at,
        "created_by": token.created_by,
        "expires_at": token.expires_at,
        "used_at": token.used_at,
        "revoked_at": token.revoked_at,
    }
