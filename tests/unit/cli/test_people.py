"""`vixio people` and `vixio devices give`, with a registry and a memory in a folder."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from vixio.cli.commands import main
from vixio.core.facts import person_owner
from vixio.data.database.create import FILE_NAME
from vixio.data.database.sqlite import SQLiteDatabase
from vixio.data.memory.records import device_key
from vixio.data.memory.repository import MemoryRepository

KITCHEN = "02:00:00:00:00:01"


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the file of the database, named in the settings of the current folder."""
    monkeypatch.chdir(tmp_path)
    lines = f"data: {{folder: {tmp_path / 'data'}}}\n"
    (tmp_path / "vixio.yaml").write_text(lines, encoding="utf-8")
    return tmp_path / "data" / FILE_NAME


def vixio(*arguments: str, status: int = 0, answer: str = "") -> str:
    """Run a command; return what it prints."""
    result = CliRunner().invoke(main, arguments, input=answer)
    assert result.exit_code == status, result.output
    return result.output


def remember(file: Path, owner: str, fact: str) -> None:
    """Put a fact into the memory."""

    async def save() -> None:
        database = SQLiteDatabase(file)
        await database.open()
        await MemoryRepository(database).save_facts(device_key(owner), [fact])
        await database.close()

    asyncio.run(save())


def test_a_family(memory: Path) -> None:
    assert "nobody is known: `vixio people add NAME`" in vixio("people")
    assert vixio("people", "add", "Anna Lisa") == (
        "added Anna Lisa; `vixio devices give DEVICE 'Anna Lisa'` follows\n"
    )
    vixio("devices", "add", KITCHEN, "--name", "Kitchen")
    assert vixio("devices", "give", "kitchen", "anna lisa") == "Kitchen belongs to Anna Lisa\n"
    assert vixio("people").splitlines() == [
        "PERSON     DEVICES  ADDED",
        "Anna Lisa  Kitchen  just now",
    ]
    assert "Anna Lisa" in vixio("devices")
    (anna,) = json.loads(vixio("people", "--json"))
    assert (anna["name"], anna["devices"]) == ("Anna Lisa", [KITCHEN])
    remember(memory, person_owner(anna["id"]), "likes tea")
    remember(memory, KITCHEN, "is a kitchen")
    assert vixio("people", "show", "Anna Lisa").splitlines() == [
        *("Anna Lisa", "", "devices", f"  - {KITCHEN} Kitchen"),
        *("", "facts", "  - likes tea"),
    ]
    assert json.loads(vixio("people", "show", anna["id"], "--json"))["facts"] == ["likes tea"]
    # What the list of the memory names can be shown, too.
    listed = [each["device"] for each in json.loads(vixio("memory", "--json"))]
    assert sorted(listed) == [KITCHEN, person_owner(anna["id"])]
    assert "likes tea" in vixio("memory", person_owner(anna["id"]))

    assert vixio("people", "rename", "anna lisa", "Ann") == "anna lisa is called 'Ann'\n"
    assert "forget all about them?" in vixio("people", "remove", "ann", answer="n\n", status=1)
    assert "likes tea" in vixio("people", "show", "Ann")
    assert vixio("people", "remove", "ann", "--yes") == (
        "removed Ann; what was remembered is erased\n"
    )
    assert "likes tea" not in vixio("memory", person_owner(anna["id"]))
    assert "is a kitchen" in vixio("memory", KITCHEN)
    assert json.loads(vixio("devices", "--json"))[0]["person"] is None


def test_a_device_is_taken_back(memory: Path) -> None:
    vixio("people", "add", "Anna")
    vixio("devices", "add", KITCHEN)
    vixio("devices", "give", KITCHEN, "Anna")
    assert vixio("devices", "give", KITCHEN) == f"{KITCHEN} belongs to nobody\n"
    assert vixio("people", "remove", "Anna", "--yes") == "removed Anna; nothing was remembered\n"
    assert "nobody is called 'Anna'" in vixio("devices", "give", KITCHEN, "Anna", status=2)


def test_facts_that_end_with_the_server(memory: Path) -> None:
    settings = Path("vixio.yaml")
    settings.write_text(f"data: {{folder: {memory.parent / 'data'}}}\nmemory: {{store: none}}\n")
    vixio("people", "add", "Anna")
    assert vixio("people", "show", "Anna") == "Anna\n"
    assert vixio("people", "remove", "Anna", "--yes") == "removed Anna; nothing was remembered\n"
    assert not memory.exists()
