"""`vixio api-tokens` and `vixio api-password`, with a registry in a folder."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest
from click.testing import CliRunner, Result

from tests.support.registry import using
from vixio.cli.commands import main
from vixio.data.database.create import make_database
from vixio.data.database.database import Database
from vixio.web.api.first_login import FILE_NAME, make_first_login
from vixio.web.api.keys import Keys
from vixio.web.api.passwords import is_password
from vixio.web.api.scopes import Scope

T = TypeVar("T")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a data folder, named in the settings of the current folder."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data"
    (tmp_path / "vixio.yaml").write_text(f"data: {{folder: {folder}}}\n", encoding="utf-8")
    return folder


def vixio(*arguments: str, status: int = 0) -> Result:
    """Run a command."""
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == status, result.output
    return result


def on_database(folder: Path, work: Callable[[Database], Awaitable[T]]) -> T:
    """Do something on the registry."""

    async def opened() -> T:
        database = make_database(folder, "")
        await database.open()
        try:
            return await work(database)
        finally:
            await database.close()

    return asyncio.run(opened())


def test_the_help_names_every_scope() -> None:
    said = " ".join(vixio("api-tokens", "create", "--help").output.split())
    assert [scope for scope in Scope if scope not in said] == []


def test_a_token_is_created_listed_and_revoked(data: Path) -> None:
    assert "no token yet" in vixio("api-tokens").output
    options = ("--name", "phone", "--scope", "control", "--scope", "devices:read", "--days", "9")
    made = vixio("api-tokens", "create", *options)
    (text,) = made.stdout.split()
    held = on_database(data, lambda database: Keys(database).holder(text))
    assert held is not None
    (listed,) = json.loads(vixio("api-tokens", "list", "--json").stdout)
    assert listed["id"] == held.id
    assert listed["scopes"] == ["control", "devices:read"]
    assert text not in vixio("api-tokens").output
    assert "phone" in vixio("api-tokens").output
    assert vixio("api-tokens", "revoke", held.id).stdout == f"revoked {held.id}\n"
    assert on_database(data, lambda database: Keys(database).holder(text)) is None
    assert "revoked already" in vixio("api-tokens", "revoke", held.id, status=2).output
    assert "name: phone, scopes: control devices:read" in vixio("devices", "audit").stdout


def test_a_mistake_is_one_line(data: Path) -> None:
    said = vixio("api-tokens", "create", "--name", "x", "--scope", "root", status=2).output
    assert said.startswith("vixio: there is no scope 'root'")
    assert said.count("\n") == 1
    said = vixio("api-tokens", "revoke", "0" * 16, status=2).output
    assert "vixio api-tokens" in said


def test_the_password_is_replaced_without_the_old_one(data: Path) -> None:
    on_database(data, lambda database: make_first_login(using(database), data))
    first = (data / FILE_NAME).read_text().strip()
    (password,) = vixio("api-password").stdout.split()
    assert password != first
    assert not (data / FILE_NAME).exists()
    stored = on_database(data, lambda database: Keys(database).password())
    assert asyncio.run(is_password(password, stored))
    result = CliRunner().invoke(main, ["api-password", "--ask"], input="of my own\nof my own\n")
    assert result.exit_code == 2
    assert "10 to 256 characters" in result.output
    result = CliRunner().invoke(main, ["api-password", "--ask"], input="of my own!\nof my own!\n")
    assert result.exit_code == 0
    stored = on_database(data, lambda database: Keys(database).password())
    assert asyncio.run(is_password("of my own!", stored))
