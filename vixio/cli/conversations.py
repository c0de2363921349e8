"""``vixio conversations``: what was said, and where the time went."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from vixio.cli.config import ConfigGroup, config_option
from vixio.cli.devices import json_option
from vixio.cli.registry import ago, local, only_one, table, the_device
from vixio.cli.turn_times import chart
from vixio.core.errors import ConfigError

if TYPE_CHECKING:
    from vixio.data.conversations.records import TurnRecord
    from vixio.data.conversations.repository import ConversationRepository

T = TypeVar("T")


@click.group(cls=ConfigGroup, invoke_without_command=True)
@config_option
@click.pass_context
def conversations(context: click.Context, config: Path | None) -> None:
    """List conversations, show their turns with the time of each stage, erase them."""
    context.obj = config
    if context.invoked_subcommand is None:
        _list(config, "", 20, as_json=False)


@conversations.command("list")
@click.argument("device", default="")
@click.option("--number", default=20, show_default=True, help="How many of the last.")
@json_option
@click.pass_obj
def list_(config: Path | None, device: str, number: int, as_json: bool) -> None:
    """List the conversations of DEVICE (an id, its beginning, or a name), or all, newest first."""
    _list(config, device, number, as_json=as_json)


@conversations.command()
@click.argument("words", nargs=-1)
@click.option("--device", default="", help="An id, its beginning, or a name.")
@click.option("--outcome", default="", help="Such as not_understood or failed.")
@click.option("--number", default=20, show_default=True, help="How many of the last.")
@json_option
@click.pass_obj
def search(
    config: Path | None,
    words: Sequence[str],
    device: str,
    outcome: str,
    number: int,
    as_json: bool,
) -> None:
    """Show turns in which all WORDS, or parts of words, were heard or said, newest first."""
    from vixio.data.conversations.search import LAST, TurnQuery, find_turns

    device_id = the_device(config, device).id if device else ""
    query = TurnQuery(words=" ".join(words), device_id=device_id, outcome=outcome)

    async def found(repository: ConversationRepository) -> list[tuple[TurnRecord, str]]:
        turns, at = await find_turns(repository.database, query, LAST, number)
        while at is not None and (left := number - len(turns)) > 0:
            part, at = await find_turns(repository.database, query, at, left)
            turns = [*turns, *part]
        return list(turns)

    turns = _at(config, found)
    if as_json:
        shown = [{**asdict(turn), "device_name": name} for turn, name in turns]
        click.echo(json.dumps(shown, ensure_ascii=False, indent=2))
        return
    for turn, name in turns:
        click.echo(f"{name or turn.device_id}, conversation {turn.session_id}")
        click.echo("\n".join(f"  {line}" for line in _lines(turn)))
    if not turns:
        click.echo("no turn fits")


@conversations.command()
@click.argument("session")
@json_option
@click.pass_obj
def show(config: Path | None, session: str, as_json: bool) -> None:
    """Show the turns of a conversation, by its SESSION as the list has it, or the beginning."""
    from vixio.data.conversations.repository import Turns

    async def found(repository: ConversationRepository) -> Sequence[TurnRecord]:
        if turns := await repository.turns(Turns.of_session(session)):
            return turns
        there = await repository.sessions(session)
        meant = only_one(session, there, "conversations")
        return await repository.turns(Turns.of_session(meant)) if meant else ()

    turns = _at(config, found)
    if not turns:
        raise ConfigError(
            f"no conversation {session} is on record: `vixio conversations` lists them"
        )
    if as_json:
        click.echo(json.dumps([asdict(turn) for turn in turns], ensure_ascii=False, indent=2))
        return
    for turn in turns:
        for line in _lines(turn):
            click.echo(line)


@conversations.command()
@click.argument("device")
@click.pass_obj
def export(config: Path | None, device: str) -> None:
    """Write all turns of DEVICE as JSON, for example to give it to the user."""
    from vixio.data.conversations.repository import Turns

    device_id = the_device(config, device).id
    turns = _at(config, lambda repository: repository.turns(Turns.of_device(device_id)))
    click.echo(json.dumps([asdict(turn) for turn in turns], ensure_ascii=False, indent=2))


@conversations.command()
@click.argument("device")
@click.option("--session", default="", help="Only this conversation.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def erase(config: Path | None, device: str, session: str, yes: bool) -> None:
    """Remove the turns of DEVICE. Its memory is another thing: `vixio memory DEVICE clear`."""
    device_id = the_device(config, device).id
    if not yes:
        click.confirm(f"erase what {device_id} said and heard?", abort=True)
    number = _at(config, lambda repository: repository.erase(device_id, session))
    click.echo(f"erased {number} turn{'' if number == 1 else 's'} of {device_id}")


def _list(config: Path | None, device: str, number: int, *, as_json: bool) -> None:
    device_id = the_device(config, device).id if device else ""
    found = _at(config, lambda repository: repository.conversations(device_id, limit=number))
    if as_json:
        click.echo(json.dumps([asdict(each) for each in found], indent=2))
        return
    if not found:
        click.echo("no conversation is on record")
        return
    rows = [
        (each.session_id, each.device_id, local(each.began_at), str(each.turns), ago(each.last_at))
        for each in found
    ]
    for line in table(("SESSION", "DEVICE", "BEGAN", "TURNS", "LAST TURN"), rows):
        click.echo(line)


def _lines(turn: TurnRecord) -> list[str]:
    lines = [f"{local(turn.at)}  turn {turn.turn}, {turn.outcome}"]
    if turn.heard:
        lines.append(f"  user       {turn.heard}")
    elif turn.guess:
        lines.append(f"  declined   heard perhaps: {turn.guess}")
    elif turn.outcome == "not_understood":
        lines.append("  declined   speech without words")
    lines += (f"  calls      {_call(tool)}" for tool in turn.tools)
    if turn.said:
        lines.append(f"  assistant  {turn.said}")
    if turn.error:
        lines.append(f"  failed     {turn.error}")
    return [*lines, *(f"             {line}" for line in chart(turn.stages))]


def _call(tool: Mapping[str, Any]) -> str:
    called = f"{tool['name']} {tool['arguments']}"
    if "ms" not in tool:
        return f"{called}, no answer"
    error = "" if tool["success"] else f", {tool.get('error') or 'failed'}"
    return f"{called}, {tool['ms']} ms{error}"


def _at(config: Path | None, work: Callable[[ConversationRepository], Awaitable[T]]) -> T:
    """Raises ConfigError, DatabaseFailed: one line."""
    from vixio.cli.speech import quiet_settings
    from vixio.composition.registry import opened_database
    from vixio.data.conversations.repository import ConversationRepository

    async def opened() -> T:
        async with opened_database(quiet_settings(config)) as database:
            return await work(ConversationRepository(database))

    return asyncio.run(opened())
