"""Backups: complete, checked, and restored into any kind of database."""

from __future__ import annotations

import gzip
import io
import json
import random
import stat
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.crash.rounds import Told, check, started_workers
from tests.support.registry_databases import Make, new_postgres
from vixio.cli.commands import main
from vixio.core.facts import person_owner
from vixio.core.history import AssistantMessage, HistoryItem, UserMessage
from vixio.data.backup import registry
from vixio.data.backup.archive import MANIFEST, ArchiveReader, ArchiveWriter, BackupError
from vixio.data.backup.server import Place, export, restore
from vixio.data.database.create import make_database
from vixio.data.database.database import Database
from vixio.data.database.migrate import migrations
from vixio.data.database.postgresql import PostgreSQLDatabase
from vixio.data.devices.contacts import DeviceContacts
from vixio.data.devices.records import AccessMode
from vixio.data.devices.repository import DeviceRepository
from vixio.data.memory.records import Remembered, device_key
from vixio.data.memory.repository import MemoryRepository
from vixio.data.papers.records import Passage
from vixio.data.papers.repository import PaperRepository
from vixio.transports.admission.access import OtaRequest

KITCHEN = "02:00:00:00:00:01"
IMAGE = random.Random(1).randbytes(700_000)


@asynccontextmanager
async def place(folder: Path, database: Database) -> AsyncIterator[Place]:
    """Open a place."""
    await database.open()
    yield Place(folder, database)
    await database.close()


async def fill(here: Place) -> None:
    """Put something into every part of a place."""
    repository = DeviceRepository(here.database)
    await repository.profiles.put("child", {"language": "de", "user": "Zoë"}, "me")
    await repository.add(KITCHEN, "me", name="Küche", key="ab" * 32)
    await repository.assign(KITCHEN, "child", "me")
    visit = OtaRequest(device_id="02:00:00:00:00:02", client_id="c")
    await DeviceContacts(here.database).decide(visit, AccessMode.ACTIVATION, None)
    memory = MemoryRepository(here.database)
    await memory.save_turn(KITCHEN, [UserMessage("hi"), AssistantMessage("Hello, Zoë.")])
    await memory.save_turn(KITCHEN, [UserMessage("bye"), AssistantMessage("Bye.")])
    await memory.save_summary(KITCHEN, "They greeted.", keep=9)
    await memory.save_facts(KITCHEN, ["likes tea"])
    anna = await repository.people.add("Anna", "me")
    await repository.give(KITCHEN, "Anna", "me")
    await memory.save_facts(device_key(person_owner(anna.id)), ["likes coffee"])
    (here.folder / "token_secret").write_text("s" * 64)
    (here.folder / "assistant.yaml").write_text("agent: {api_key: sk-1}\n")
    (here.folder / "assistant.yaml.before").write_text("agent: {api_key: sk-0}\n")
    image = here.folder / "firmware" / "box" / "1.0.0" / "xiaozhi.bin"
    image.parent.mkdir(parents=True)
    image.write_bytes(IMAGE)


async def content(here: Place) -> object:
    """Return all that a place holds, but its files."""
    memory = MemoryRepository(here.database)
    _, rows = await registry.dump(here.database)
    kept = {table: sorted(map(dict, lines), key=str) for table, lines in rows.items()}
    keys = [each.key for each in await memory.known()]
    facts = {key: await memory.load_facts(key) for key in keys}
    return kept, await memory.load(KITCHEN), facts


async def test_everything_comes_back_also_in_the_other_kind_of_database(
    make: Make, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    file, folders = tmp_path / "backup.tar.gz", [tmp_path / name for name in ("a", "b", "c")]
    for folder in folders:
        folder.mkdir()
    first = make()
    targets = [make_database(folders[1], "")]
    if isinstance(first, PostgreSQLDatabase):
        url = new_postgres(request.getfixturevalue("postgres_url"))
        targets.append(make_database(folders[2], url))
    async with place(folders[0], first) as here:
        await fill(here)
        before = await content(here)
        told = await export(here, file)
    assert told == {"devices": 2, "profiles": 1, "people": 1, "conversations": 1, "files": 3}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for folder, target in zip(folders[1:], targets, strict=False):
        async with place(folder, target) as there:
            assert await restore(there, file) == told
            assert await content(there) == before
        for name, text in (
            ("token_secret", "s" * 64),
            ("assistant.yaml", "agent: {api_key: sk-1}\n"),
        ):
            secret = folder / name
            assert secret.read_text() == text
            assert stat.S_IMODE(secret.stat().st_mode) == 0o600
        assert not (folder / "assistant.yaml.before").exists()
        assert (folder / "firmware/box/1.0.0/xiaozhi.bin").read_bytes() == IMAGE


async def test_a_place_that_is_not_empty_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "backup.tar.gz"
    async with place(tmp_path, make_database(tmp_path, "")) as here:
        await fill(here)
        before = await content(here)
        await export(here, file)
        with pytest.raises(BackupError, match="is there already"):
            await restore(here, file)
        for name in ("token_secret", "assistant.yaml", "firmware/box/1.0.0/xiaozhi.bin"):
            (tmp_path / name).unlink()
        with pytest.raises(BackupError, match="is not empty"):
            await restore(here, file)
        assert await content(here) == before


@pytest.mark.slow
@pytest.mark.parametrize("taken", ["registry", "memory"])
async def test_all_places_are_looked_at_before_one_is_filled(tmp_path: Path, taken: str) -> None:
    file, full, other = tmp_path / "backup.tar.gz", tmp_path / "full", tmp_path / "other"
    for folder in (full, other):
        folder.mkdir()
    async with place(full, make_database(full, "")) as here:
        await fill(here)
        await export(here, file)
    async with place(other, make_database(other, "")) as there:
        if taken == "registry":
            await DeviceRepository(there.database).add(KITCHEN, "me")
        else:
            await MemoryRepository(there.database).save_facts(KITCHEN, ["likes tea"])
        before = await content(there)
        for _ in range(2):
            with pytest.raises(BackupError, match="is not empty"):
                await restore(there, file)
        assert await content(there) == before
        assert not (other / "token_secret").exists()


async def test_a_backup_of_a_version_that_kept_the_memory_apart(make: Make, tmp_path: Path) -> None:
    file, anna = tmp_path / "backup.tar.gz", device_key(person_owner("a1"))
    greeting = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "Hello."}]
    with ArchiveWriter(file) as writer:
        writer.add_lines("about.json", [{"database_version": 11}])
        writer.add_lines(
            "memory.jsonl",
            [
                {"key": KITCHEN, "turns": greeting, "summary": "Of tea.", "facts": ["likes tea"]},
                {"key": anna, "turns": [], "summary": "", "facts": ["likes coffee"]},
            ],
        )
    async with place(tmp_path, make()) as here:
        assert (await restore(here, file))["conversations"] == 1
        memory = MemoryRepository(here.database)
        said: list[HistoryItem] = [UserMessage("hi"), AssistantMessage("Hello.")]
        assert await memory.load(KITCHEN) == Remembered([said], "Of tea.")
        assert await memory.load_facts(KITCHEN) == ["likes tea"]
        assert await memory.load_facts(anna) == ["likes coffee"]


@pytest.mark.parametrize(
    "manifest", [b"[]", b"null", b'"a"', b"{}", b'{"format": 1}', b"[" * 9_999]
)
def test_a_manifest_that_is_none_is_no_backup(tmp_path: Path, manifest: bytes) -> None:
    with pytest.raises(BackupError, match="no backup of Vixio"):
        ArchiveReader(archive(tmp_path / "b.tar.gz", {MANIFEST: manifest}))


async def test_what_was_acknowledged_before_a_backup_is_in_it(make: Make, tmp_path: Path) -> None:
    """The backup is taken while two processes change the registry without a pause."""
    first = make()
    url = first.url if isinstance(first, PostgreSQLDatabase) else ""
    async with (
        place(tmp_path, first) as here,
        started_workers(tmp_path, url, "w") as workers,
    ):
        told = Told()
        for _ in range(200):
            for worker in workers:
                assert worker.stdout is not None
                told.note(await worker.stdout.readline())
        await export(here, tmp_path / "backup.tar.gz")
    for worker in workers:
        await worker.communicate()
    (tmp_path / "there").mkdir()
    async with place(tmp_path / "there", make_database(tmp_path / "there", "")) as there:
        await restore(there, tmp_path / "backup.tar.gz")
        found = {device.id: device for device in await DeviceRepository(there.database).devices()}
        await check(there.database, told, later=True)
    assert len(found) > 5


async def test_tables_are_those_of_the_migrations(tmp_path: Path) -> None:
    database = make_database(tmp_path, "")
    await database.open()
    async with database.transaction(write=False) as transaction:
        there = set(await transaction.tables()) - {"vixio_migrations", "sqlite_sequence"}
    await database.close()
    # FTS5 keeps an index in tables of its own.
    assert set(registry.tables()) == {each for each in there if "paper_index_" not in each}


def archive(path: Path, members: dict[str, bytes]) -> Path:
    """Write a tar as somebody else would."""
    with tarfile.open(path, "w:gz") as tar:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    return path


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    whole = tmp_path / "whole.tar.gz"
    with ArchiveWriter(whole) as writer:
        writer.add_lines("a.jsonl", [{"n": number} for number in range(5_000)])
    assert len(list(ArchiveReader(whole).lines("a.jsonl"))) == 5_000
    assert list(ArchiveReader(whole).lines("missing")) == []
    assert [each.name for each in tmp_path.iterdir()] == ["whole.tar.gz"], "nothing is left over"
    cut = tmp_path / "cut.tar.gz"
    for share in (0, 0.3, 0.7, 0.95):
        data = whole.read_bytes()
        cut.write_bytes(data[: int(len(data) * share)])
        with pytest.raises(BackupError, match=r"cut\.tar\.gz: no backup"):
            ArchiveReader(cut)
    with gzip.open(cut, "wb") as file:
        file.write(b"no tar at all" * 100)
    with pytest.raises(BackupError, match="no backup"):
        ArchiveReader(cut)
    with pytest.raises(BackupError, match="no such file"):
        ArchiveReader(tmp_path / "nowhere")
    members = {"a": b"changed", MANIFEST: b'{"format": 1, "files": {"a": "00"}}'}
    with pytest.raises(BackupError, match="a is damaged or missing"):
        ArchiveReader(archive(cut, members))
    with pytest.raises(BackupError, match="newer Vixio"):
        ArchiveReader(archive(cut, {MANIFEST: b'{"format": 2, "files": {}}'}))


@pytest.mark.parametrize("name", ["../up", "/etc/x", "vixio.db", "firmware/../../up"])
async def test_no_file_is_written_elsewhere(tmp_path: Path, name: str) -> None:
    file = tmp_path / "b.tar.gz"
    (tmp_path / "x").write_text("x")
    with ArchiveWriter(file) as writer:
        writer.add_file(f"files/{name}", tmp_path / "x")
    folder = tmp_path / "data"
    folder.mkdir()
    async with place(folder, make_database(folder, "")) as there:
        with pytest.raises(BackupError, match="in an unknown place"):
            await restore(there, file)
    assert not (tmp_path / "up").exists()


async def test_a_backup_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    database = make_database(tmp_path, "")
    await database.open()
    with pytest.raises(BackupError, match="newer Vixio"):
        await registry.load(database, {}, migrations()[-1].version + 1)
    with pytest.raises(BackupError, match="unknown column in the backup's table devices"):
        await registry.load(database, {"devices": [{"id) VALUES (1); --": 1}]}, 1)
    await database.close()


def test_the_commands(tmp_path: Path) -> None:
    def vixio(folder: str, *arguments: str) -> tuple[int, str]:
        config = tmp_path / f"{folder}.yaml"
        config.write_text(f"data: {{folder: {tmp_path / folder}}}\n")
        command, *rest = arguments
        done = CliRunner().invoke(main, [command, "--config", str(config), *rest])
        return done.exit_code, done.output

    file = str(tmp_path / "b.tar.gz")
    assert vixio("a", "devices", "add", KITCHEN, "--name", "Kitchen")[0] == 0
    status, said = vixio("a", "export", file)
    assert status == 0
    assert said.startswith(f"wrote {file}, ")
    assert said.endswith(" bytes: 1 devices, 0 profiles, 0 people, 0 conversations, 0 files\n")
    status, said = vixio("a", "export", file)
    assert status == 2
    assert "is there already: choose another name, or --force" in said
    assert vixio("a", "export", file, "--force")[0] == 0
    assert vixio("b", "restore", file) == (
        0,
        "restored 1 devices, 0 profiles, 0 people, 0 conversations, 0 files\n",
    )
    assert json.loads(vixio("b", "devices", "--json")[1])[0]["name"] == "Kitchen"
    status, said = vixio("b", "restore", file)
    assert status == 2
    assert "is not empty" in said


async def test_documents_are_found_again(tmp_path: Path) -> None:
    file = tmp_path / "backup.tar.gz"
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    async with place(tmp_path / "a", make_database(tmp_path / "a", "")) as here:
        papers = PaperRepository(here.database)
        paper = await papers.begin("", "boiler.pdf", "", "d", 1)
        await papers.put(paper, [Passage(7, "", "Press the button.", ("boiler", "press button"))])
        await papers.end(paper, 7)
        ((number, _),) = (await papers.without_vector("m", 9)).items()
        await papers.put_vectors("m", {number: b"1234"})
        await export(here, file)
    async with place(tmp_path / "b", make_database(tmp_path / "b", "")) as there:
        await restore(there, file)
        papers = PaperRepository(there.database)
        assert await papers.by_words(["button"], [""], 9) == [number]
        assert (await papers.passages([number], [""]))[number].page == 7
        assert list(await papers.without_vector("m", 9)) == [number]
