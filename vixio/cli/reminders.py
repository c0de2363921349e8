"""``vixio reminders``: what the assistant is to say first, listed, added and cancelled."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from vixio.cli.config import ConfigGroup, config_option
from vixio.cli.devices import json_option
from vixio.cli.registry import actor, ago, local, table, the_device, utc
from vixio.core.errors import ConfigError, ToolError
from vixio.core.wall_clock import now_ms

if TYPE_CHECKING:
    from vixio.data.reminders.records import Delivery
    from vixio.data.reminders.repository import ReminderRepository

T = TypeVar("T")

_UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}

KINDS = ("reminder", "timer", "alarm", "message")


@click.group(cls=ConfigGroup, invoke_without_command=True)
@config_option
@click.pass_context
def reminders(context: click.Context, config: Path | None) -> None:
    """List reminders, timers, alarms and messages, add them, cancel them.

    Works whether or not the server runs; a running server follows within about a second.
    """
    context.obj = config
    if context.invoked_subcommand is None:
        _list(config, "", over=False, as_json=False)


@reminders.command("list")
@click.argument("device", default="")
@click.option("--all", "over", is_flag=True, help="Also those that are over.")
@json_option
@click.pass_obj
def list_(config: Path | None, device: str, over: bool, as_json: bool) -> None:
    """List what waits for DEVICE (an id, its beginning, or a name), or for all."""
    _list(config, device, over=over, as_json=as_json)


@reminders.command()
@click.argument("device")
@click.argument("text", default="")
@click.option("--kind", type=click.Choice(KINDS), default="reminder", show_default=True)
@click.option("--in", "wait", default="", help="In such a time: 90s, 10m, 2h, 1d.")
@click.option("--at", "at", default="", help="At a local time: 07:30, or 2026-12-24T18:00.")
@click.option("--days", default="", help="With --at, again and again: daily, or mon,wed,fri.")
@click.pass_obj
def add(
    config: Path | None, device: str, text: str, kind: str, wait: str, at: str, days: str
) -> None:
    """Have TEXT said to DEVICE (an id, its beginning, or a name), at once if no time is given."""
    from vixio.cli.speech import quiet_settings
    from vixio.data.reminders.asked import at_time
    from vixio.data.reminders.records import Kind, Order

    if wait and at:
        raise click.UsageError("give --in or --at, not both")
    if days and not at:
        raise click.UsageError("--days needs --at")
    zone = quiet_settings(config).assistant.time_zone
    now, length, rule = now_ms(), _length_ms(wait), None
    due = now + length
    if at:
        day, _, clock = at.rpartition("T")
        try:
            due, rule = at_time(clock, day, days.split(",") if days else (), zone, now)
        except ToolError as error:
            raise ConfigError(f"--at, --days: {error}") from error
    order = Order(
        kind=Kind(kind),
        device_id=the_device(config, device).id,
        due_at=due,
        text=text,
        length_ms=length,
        rule=rule,
        created_by=actor(),
    )
    added = _with_repository(config, lambda repository: repository.add(order))
    click.echo(f"added {added.id}: {added.device_id} hears it at {local(added.due_at, zone)}")


@reminders.command()
@click.argument("reminder", metavar="ID")
@click.pass_obj
def cancel(config: Path | None, reminder: str) -> None:
    """Cancel one by its ID, as the list shows it; one that repeats does not come again."""
    found = _with_repository(config, lambda repository: repository.cancel(reminder, actor()))
    click.echo(f"cancelled {found.id}")


def _list(config: Path | None, device: str, *, over: bool, as_json: bool) -> None:
    from vixio.cli.speech import quiet_settings

    zone = quiet_settings(config).assistant.time_zone
    device_id = the_device(config, device).id if device else ""
    found = _with_repository(config, lambda repository: repository.deliveries(device_id, over=over))
    if as_json:
        click.echo(json.dumps([_values(each) for each in found], ensure_ascii=False, indent=2))
        return
    if not found:
        click.echo("nothing is to be said")
        return
    head = ("ID", "DEVICE", "KIND", "DUE", "IN", "REPEATS", "STATE", "TEXT", "WHY")
    rows = [
        (
            each.id,
            each.device_id,
            each.kind.value,
            local(each.due_at, zone),
            _until(each.due_at),
            f"{each.rule} {each.zone}".strip(),
            each.state.value,
            each.text,
            _why(each, zone),
        )
        for each in found
    ]
    for line in table(head, rows):
        click.echo(line)


def _why(each: Delivery, zone: str) -> str:
    if each.shown_at is None or each.heard:
        return each.reason
    return f"shown on the screen at {local(each.shown_at, zone)}; {each.reason or 'not said yet'}"


def _length_ms(text: str) -> int:
    """Return a length such as 1h30m in milliseconds; 0 for an empty one. Raises ConfigError."""
    parts = re.findall(r"(\d+)\s*([dhms])", text)
    if "".join(f"{number}{unit}" for number, unit in parts) != "".join(text.split()):
        raise ConfigError(f"--in: invalid duration {text!r}; examples: 90s, 10m, 2h, 1d, 1h30m")
    return sum(int(number) * _UNITS[unit] for number, unit in parts) * 1000


def _until(due_at: int) -> str:
    left = round((due_at - now_ms()) / 1000)
    if left < 0:
        return ago(due_at)
    minutes, hours = left // 60, left // 3600
    if hours >= 48:
        return f"{hours // 24} days"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min {left % 60} s"


def _values(each: Delivery) -> dict[str, Any]:
    values = each.row()
    for name in ("owner", "lease_until", "not_before"):
        del values[name]
    for name in ("due_at", "expires_at", "created_at", "ended_at", "shown_at"):
        values[name] = utc(values[name])
    return values


def _with_repository(config: Path | None, work: Callable[[ReminderRepository], Awaitable[T]]) -> T:
    """Raises ConfigError, DatabaseFailed, ReminderError: one line."""
    from vixio.cli.speech import quiet_settings
    from vixio.composition.reminders import opened_reminders

    async def opened() -> T:
        async with opened_reminders(quiet_settings(config)) as repository:
            return await work(repository)

    return asyncio.run(opened())
