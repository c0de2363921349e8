"""What the commands of the registry have in common: the settings, the database, who did it."""

from __future__ import annotations

import asyncio
import getpass
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar
from zoneinfo import ZoneInfo

from vixio.core.errors import ConfigError
from vixio.core.wall_clock import now_s

if TYPE_CHECKING:
    from vixio.data.devices.records import DeviceRecord
    from vixio.data.devices.repository import DeviceRepository

T = TypeVar("T")

LEAST: Final = 4
"""Characters of the beginning of an id that may stand for it: as git has it."""

_SHOWN = 5
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


def actor() -> str:
    """Return who changes something, for the audit trail: the user of this machine."""
    try:
        return f"command:{getpass.getuser()}"
    except (KeyError, OSError):  # a user id without a name, as in a container
        return "command"


def with_repository(config: Path | None, work: Callable[[DeviceRepository], Awaitable[T]]) -> T:
    """Open the registry of the settings, do ``work``, and close it.

    Raises ConfigError, DatabaseFailed, RegistryError: one line.
    """
    from vixio.cli.speech import quiet_settings
    from vixio.composition.registry import opened_desk

    async def opened() -> T:
        async with opened_desk(quiet_settings(config)) as repository:
            return await work(repository)

    return asyncio.run(opened())


def with_device(
    config: Path | None, device: str, work: Callable[[DeviceRepository, str], Awaitable[T]]
) -> T:
    """Do ``work`` with the id of a device, which is named by it, its beginning, or its name.

    Raises as :func:`with_repository`.
    """

    async def named(repository: DeviceRepository) -> T:
        return await work(repository, await _meant(repository, device))

    return with_repository(config, named)


def the_device(config: Path | None, device: str) -> DeviceRecord:
    """Return the device that is meant. Raises as :func:`with_repository`."""
    return with_device(config, device, lambda repository, its: repository.device(its))


async def _meant(repository: DeviceRepository, device: str) -> str:
    from vixio.data.devices.records import NotKnown

    try:
        return (await repository.device(device)).id
    except NotKnown:
        ids = [line.id for line in await repository.lines()]
        if found := only_one(device.strip().lower(), ids, "devices"):
            return found
        raise


def only_one(beginning: str, ids: Sequence[str], what: str) -> str:
    """Return the only id that begins so; empty: none does. Raises ConfigError if several do."""
    found = [each for each in ids if each.startswith(beginning)] if len(beginning) >= LEAST else []
    if len(found) > 1:
        shown = ", ".join(found[:_SHOWN]) + (", …" if len(found) > _SHOWN else "")
        raise ConfigError(f"the ids of {len(found)} {what} begin with {beginning!r}: {shown}")
    return found[0] if found else ""


def local(at: int | None, zone: str = "") -> str:
    """Return a time to the second as people read it; empty: none.

    ``at``: milliseconds since 1970. ``zone``: of IANA; empty: this machine's.
    """
    if not at:
        return ""
    moment = datetime.fromtimestamp(at / 1000, ZoneInfo(zone) if zone else None)
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def ago(at: int | None, never: str = "never") -> str:
    """Return how long ago a time was, in words. ``at``: milliseconds since 1970; 0 is never."""
    if not at:
        return never
    seconds = now_s() - at / 1000
    for unit, length in (("day", _DAY), ("hour", _HOUR), ("minute", _MINUTE)):
        if seconds >= length:
            number = int(seconds // length)
            return f"{number} {unit}{'' if number == 1 else 's'} ago"
    return "just now"


def utc(at: int | None) -> str:
    """Return a time in UTC to the second, in the form of ISO 8601; empty: none."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at / 1000)) if at else ""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table; columns without any value are left out."""
    kept = [column for column in range(len(head)) if any(row[column] for row in rows)]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in kept]
    lines = []
    for row in (head, *rows):
        cells = (row[column].ljust(width) for column, width in zip(kept, widths, strict=True))
        lines.append("  ".join(cells).rstrip())
    return lines
