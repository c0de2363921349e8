"""`vixio reminders`: what the list says of a reminder that a device has only shown."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from click.testing import CliRunner

from vixio.cli.devices import devices
from vixio.cli.reminders import reminders

KITCHEN = "02:00:00:00:00:01"
SHOWN = 1_800_000_000_000


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    """Write settings with a data folder of their own."""
    file = tmp_path / "vixio.yaml"
    zone = "assistant: {time_zone: UTC}\n"
    file.write_text(f"data: {{folder: {tmp_path / 'data'}}}\n{zone}", encoding="utf-8")
    return file


def listed(settings: Path, *options: str) -> str:
    """Return what the command lists."""
    result = CliRunner().invoke(reminders, ["list", *options, "--config", str(settings)])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("state = 'pending'", "shown on the screen at 2027-01-15 08:00:00; not said yet"),
        (
            "state = 'expired', ended_at = 1, reason = 'it could not be said in time'",
            "shown on the screen at 2027-01-15 08:00:00; it could not be said in time",
        ),
        ("state = 'delivered', ended_at = 1, heard = 'tea'", ""),
    ],
)
def test_the_list_says_that_it_was_shown(settings: Path, state: str, why: str) -> None:
    for command in (devices, [KITCHEN]), (reminders, [KITCHEN, "tea"]):
        arguments = ["add", *command[1], "--config", str(settings)]
        added = CliRunner().invoke(command[0], arguments)
        assert added.exit_code == 0, added.output
    (file,) = (settings.parent / "data").glob("*.db")
    with sqlite3.connect(file) as database:
        database.execute(f"UPDATE deliveries SET shown_at = {SHOWN}, {state}")  # noqa: S608
    database.close()
    said = listed(settings, "--all")
    assert said.rstrip().endswith(why or "tea")
    assert ("shown on the screen" in said) == bool(why)
    assert '"shown_at": "2027-01-15T08:00:00Z"' in listed(settings, "--all", "--json")
