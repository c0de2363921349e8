"""The data folder of an earlier version goes on with everything that it had.

``registry.sql`` and ``memory.sql`` are dumps (``sqlite3 vixio.db .dump``) of the files of a server
of that version to which two devices had talked, without logins and tokens.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from vixio.cli.commands import main
from vixio.data.database.create import FILE_NAME

HERE = Path(__file__).parent
KITCHEN, HALL = "02:00:00:00:00:01", "02:00:00:00:00:02"

Vixio = Callable[..., str]


def write(path: Path, dump: str) -> None:
    path.parent.mkdir(exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((HERE / dump).read_text("utf-8"))


@pytest.fixture(params=["where it was by default", "at memory.path"])
def vixio(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Vixio:
    """Give the command line, in a folder of the earlier version."""
    state = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("vixio.data.memory.former.state_folder", lambda: state)
    settings = f"data: {{folder: {tmp_path / 'data'}}}\n"
    if request.param == "at memory.path":
        state = tmp_path / "elsewhere"
        settings += f"memory: {{store: sqlite, path: {state / 'memory.db'}}}\n"
    write(tmp_path / "data" / FILE_NAME, "registry.sql")
    write(state / "memory.db", "memory.sql")
    config = tmp_path / "vixio.yaml"
    config.write_text(settings)

    def run(*words: str) -> str:
        done = CliRunner().invoke(main, [*words, "--config", str(config)])
        assert done.exit_code == 0, done.output
        return done.stdout

    return run


def test_everything_is_kept(vixio: Vixio, tmp_path: Path) -> None:
    for _ in range(2):  # the second time nothing is taken over
        devices = {each["id"]: each for each in json.loads(vixio("devices", "--json"))}
        assert {id_: each["name"] for id_, each in devices.items()} == {
            KITCHEN: "Kitchen",
            HALL: "Hall",
        }
        assert (devices[KITCHEN]["profile"], devices[KITCHEN]["person"]) == ("child", "Anna")
        assert "user: Ada" in vixio("profiles", "show", "child")
        assert "water the plants" in vixio("reminders", "list")
        assert KITCHEN in vixio("conversations", "list", KITCHEN)
        assert "  - I like tea" in vixio("people", "show", "Anna")

        listed = json.loads(vixio("memory", "--json"))
        assert {each["device"].partition("/")[0] for each in listed} == {KITCHEN, HALL, "person"}
        assert all(abs(each["seen"] - 1_795_792_480) < 60 for each in listed)
        hall: dict[str, Any] = json.loads(vixio("memory", HALL, "--json"))
        assert hall["facts"] == ["I am allergic to nuts"]
        first, second = hall["turns"]
        assert [item.get("content", item.get("name", "")) for item in first] == [
            "remember that I am allergic to nuts",
            "remember_fact",
            "",
            "Okay, I will remember: i am allergic to nuts.",
        ]
        assert second[0] == {"role": "user", "content": "hello"}
        assert len(json.loads(vixio("memory", KITCHEN, "--json"))["turns"]) == 2
    assert [each.name for each in tmp_path.rglob("memory.db*")] == ["memory.db.former"]
    (left,) = tmp_path.rglob("memory.db.former")
    erased, beside = vixio("memory", HALL, "clear").splitlines()
    assert erased == f"{HALL}: erased"
    assert beside.startswith(f"{left}, of an earlier version, still has")
    left.unlink()
    assert vixio("memory", HALL, "clear") == f"{HALL}: nothing was remembered\n"
    assert "nothing is remembered" in vixio("memory", HALL)
