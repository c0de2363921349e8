"""``vixio people``: whom devices belong to, and what is remembered about them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from vixio.cli.config import ConfigGroup, config_option
from vixio.cli.devices import json_option
from vixio.cli.registry import actor, ago, table, utc, with_repository

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vixio.data.devices.records import DeviceRecord, PersonRecord
    from vixio.data.devices.repository import DeviceRepository
    from vixio.data.memory.repository import MemoryRepository

T = TypeVar("T")


@click.group(cls=ConfigGroup, invoke_without_command=True)
@json_option
@config_option
@click.pass_context
def people(context: click.Context, as_json: bool, config: Path | None) -> None:
    """List and name the people whom devices belong to.

    `vixio devices give` lets a device belong to one. The devices of a person share what the
    assistant is asked to remember, and "tell Anna …" reaches them.
    """
    context.obj = config
    if context.invoked_subcommand is None:
        _list(config, as_json=as_json)


def _list(config: Path | None, *, as_json: bool) -> None:
    found, devices = with_repository(config, _everybody)
    of = {person.id: [each for each in devices if each.person_id == person.id] for person in found}
    if as_json:
        listed = [_values(person, of[person.id]) for person in found]
        click.echo(json.dumps(listed, ensure_ascii=False, indent=2))
    elif not found:
        click.echo("nobody is known: `vixio people add NAME` makes somebody known")
    else:
        rows = [
            (
                person.name,
                ", ".join(each.name or each.id for each in of[person.id]),
                ago(person.added_at),
            )
            for person in found
        ]
        for line in table(("PERSON", "DEVICES", "ADDED"), rows):
            click.echo(line)


@people.command("list")
@json_option
@click.pass_obj
def list_(config: Path | None, as_json: bool) -> None:
    """List the people, with their devices."""
    _list(config, as_json=as_json)


@people.command()
@click.argument("person")
@json_option
@click.pass_obj
def show(config: Path | None, person: str, as_json: bool) -> None:
    """Show the devices of PERSON, and what is remembered about them."""

    async def look(repository: DeviceRepository) -> tuple[PersonRecord, list[DeviceRecord]]:
        found = await repository.people.find(person)
        return found, [each for each in await repository.devices() if each.person_id == found.id]

    found, devices = with_repository(config, look)
    nothing: Sequence[str] = ()
    facts = _in_memory(config, found, lambda store, key: store.load_facts(key), nothing)
    if as_json:
        values = {**_values(found, devices), "facts": list(facts)}
        click.echo(json.dumps(values, ensure_ascii=False, indent=2))
        return
    click.echo(found.name)
    for head, lines in (
        ("devices", [f"{each.id} {each.name}".rstrip() for each in devices]),
        ("facts", facts),
    ):
        if lines:
            click.echo("\n".join(("", head, *(f"  - {line}" for line in lines))))


@people.command()
@click.argument("name")
@click.pass_obj
def add(config: Path | None, name: str) -> None:
    """Make somebody known, by NAME."""
    added = with_repository(config, lambda repository: repository.people.add(name, actor()))
    click.echo(f"added {added.name}; `vixio devices give DEVICE {_quoted(added.name)}` follows")


@people.command()
@click.argument("person")
@click.argument("name")
@click.pass_obj
def rename(config: Path | None, person: str, name: str) -> None:
    """Give PERSON another NAME. What is remembered about them stays."""
    found = with_repository(
        config, lambda repository: repository.people.rename(person, name, actor())
    )
    click.echo(f"{person} is called {found.name!r}")


@people.command()
@click.argument("person")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def remove(config: Path | None, person: str, yes: bool) -> None:
    """Remove PERSON, and erase what is remembered about them. The devices stay."""
    found = with_repository(config, lambda repository: repository.people.find(person))
    if not yes:
        click.confirm(f"remove {found.name}, and forget all about them?", abort=True)
    with_repository(config, lambda repository: repository.people.remove(found.id, actor()))
    erased = _in_memory(config, found, lambda store, key: store.clear(key), False)
    remembered = "what was remembered is erased" if erased else "nothing was remembered"
    click.echo(f"removed {found.name}; {remembered}")


async def _everybody(
    repository: DeviceRepository,
) -> tuple[Sequence[PersonRecord], Sequence[DeviceRecord]]:
    return await repository.people.all(), await repository.devices()


def _in_memory(
    config: Path | None,
    person: PersonRecord,
    work: Callable[[MemoryRepository, str], Awaitable[T]],
    nothing: T,
) -> T:
    """Do ``work`` on the memory of the settings and the key of a person's facts.

    Return ``nothing`` where facts end with the server. Raises ConfigError.
    """
    from vixio.cli.speech import quiet_settings
    from vixio.composition.registry import opened_memory
    from vixio.core.facts import person_owner
    from vixio.data.memory.records import device_key

    settings = quiet_settings(config)
    if settings.memory.store == "none":
        return nothing
    key = device_key(person_owner(person.id))

    async def opened() -> T:
        async with opened_memory(settings) as memory:
            return await work(memory, key)

    return asyncio.run(opened())


def _values(person: PersonRecord, devices: Sequence[DeviceRecord]) -> dict[str, object]:
    return {
        "id": person.id,
        "name": person.name,
        "added_at": utc(person.added_at),
        "devices": [each.id for each in devices],
    }


def _quoted(name: str) -> str:
    return f"'{name}'" if " " in name else name
