"""The command ``vixio memory``, and its error messages."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.unit.data.memory.doubles import Server, talk
from vixio.cli.commands import main
from vixio.cli.diagnostics.check import Part, check_all
from vixio.data.database.create import FILE_NAME

A = "02:00:00:00:00:0a"


def vixio_memory(directory: Path, section: str, *arguments: str, data: str = "") -> tuple[int, str]:
    config = directory / "vixio.yaml"
    lines = f"memory: {section}\ndata: {{folder: {data or directory}}}\n"
    config.write_text(lines, encoding="utf-8")
    done = CliRunner().invoke(main, ["memory", *arguments, "--config", str(config)])
    return done.exit_code, done.output


def test_where_nothing_is_kept_there_is_nothing_to_show(tmp_path: Path) -> None:
    code, said = vixio_memory(tmp_path, "{store: none}", A)
    assert code == 2
    assert said.startswith("vixio: memory.store is none")


def test_an_empty_memory(tmp_path: Path) -> None:
    section = "{}"
    assert vixio_memory(tmp_path, section) == (0, "nothing is remembered of any device\n")
    assert vixio_memory(tmp_path, section, "--json") == (0, "[]\n")
    assert vixio_memory(tmp_path, section, A) == (
        0,
        f"{A}: nothing is remembered; `vixio memory` lists the devices that are known\n",
    )


def test_a_device_is_found_in_any_spelling(tmp_path: Path) -> None:
    """Also in a store from before ids were normalised."""
    path = tmp_path / FILE_NAME

    async def talked_to(device_id: str) -> None:
        server = Server(path)
        talk(await server.connect(device_id), f"I am {device_id}")
        await server.stop()

    section = "{}"
    asyncio.run(talked_to("Kitchen Box"))
    assert "I am Kitchen Box" in vixio_memory(tmp_path, section, "Kitchen Box")[1]
    assert "I am Kitchen Box" in vixio_memory(tmp_path, section, "kitchen box")[1]
    asyncio.run(talked_to("Office Box"))
    asyncio.run(talked_to("office box"))
    assert vixio_memory(tmp_path, section, "Office Box", "clear")[1] == "Office Box: erased\n"
    assert vixio_memory(tmp_path, section)[1].count("last seen") == 1


def test_a_store_that_does_not_work_is_one_line(tmp_path: Path) -> None:
    code, said = vixio_memory(tmp_path, "{}", A, "clear", data="/proc/vixio")
    assert code == 2
    assert said.startswith("vixio: /proc/vixio/vixio.db: ")
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("store", ["redis", "sqlalchemy"])
def test_a_store_of_an_earlier_version_is_one_line(tmp_path: Path, store: str) -> None:
    code, said = vixio_memory(tmp_path, f"{{store: {store}, url: 'x://h'}}", A)
    assert code == 2
    assert f"store {store} is gone" in said
    assert len(said.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("memory", "data", "ok", "says"),
    [
        ("{store: none}", "{folder: HERE}", True, "forgotten when the server stops"),
        ("{}", "{database: none}", True, "forgotten when the server stops"),
        ("{keep_days: 0}", "{folder: HERE}", True, "0 devices known, kept for ever"),
        ("{}", "{folder: /proc/vixio}", False, "data.folder"),
    ],
)
async def test_vixio_check_tries_it(
    tmp_path: Path, memory: str, data: str, ok: bool, says: str
) -> None:
    config = tmp_path / "vixio.yaml"
    config.write_text(f"memory: {memory}\ndata: {data.replace('HERE', str(tmp_path))}\n")
    parts: dict[str, Part] = {}
    await check_all(config, "here", lambda part: parts.update({part.name: part}))
    assert parts["memory"].ok is ok
    assert says in parts["memory"].detail
