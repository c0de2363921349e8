"""The folder of models: what is listed, removed, and kept apart."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from vixio.providers.downloads.catalogue import MANIFEST
from vixio.providers.downloads.errors import ModelError
from vixio.providers.downloads.store import ModelStore, StoredFile

FILE = StoredFile("a.onnx", 3, "ab" * 32, "hub")


def placed(store: ModelStore, name: str = "a-model") -> Path:
    store.prepare(name)
    (store.staging(name) / "files" / "a.onnx").write_bytes(b"abc")
    (store.staging(name) / "files" / "unfinished.part").write_bytes(b"x")
    return store.publish(name, "host", [FILE]).folder


def test_an_empty_store(store: ModelStore) -> None:
    assert store.installed() == {}
    assert store.get("a-model") is None
    assert store.partial("a-model") == 0


def test_what_is_published_is_listed(store: ModelStore) -> None:
    folder = placed(store)
    assert {path.name for path in folder.iterdir()} == {"a.onnx", MANIFEST}
    placed(store)  # again: it is replaced
    (store.folder / "by-hand").mkdir()
    (store.folder / "Not A Name").mkdir()
    (model,) = store.installed().values()
    assert (model.name, model.folder, model.source, model.files) == (
        "a-model",
        folder,
        "host",
        (FILE,),
    )


async def test_removing_frees_all(store: ModelStore) -> None:
    folder = placed(store)
    store.prepare("a-model")
    (store.staging("a-model") / "left").write_bytes(b"12345")
    assert await store.remove("a-model") > 8
    assert not folder.exists()
    assert not store.staging("a-model").exists()
    assert await store.remove("a-model") == 0


@pytest.mark.parametrize("name", ["..", "../a", "/etc", "", ".partial", "A", "a/b", "a\n"])
async def test_only_names_of_models_are_taken(store: ModelStore, name: str) -> None:
    with pytest.raises(ModelError, match="is no name of a model"):
        store.place(name)
    with pytest.raises(ModelError, match="is no name of a model"):
        await store.remove(name)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"files": [{}]}', '{"files": 3, "source": ""}'])
def test_a_damaged_manifest_is_told(store: ModelStore, text: str) -> None:
    (placed(store) / MANIFEST).write_text(text)
    with pytest.raises(ModelError, match="is damaged: `vixio models remove a-model`"):
        store.installed()


@pytest.mark.slow
async def test_the_lock_is_between_processes(store: ModelStore) -> None:
    """And a process that is killed leaves none behind."""
    holder = subprocess.Popen(  # noqa: ASYNC220 - a few lines, read once
        [sys.executable, "-c", _HOLD, str(store.folder)], stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == b"held\n"
        waits = asyncio.Event()

        async def take() -> None:
            async with store.locked("a-model", waits.set):
                pass

        async with asyncio.timeout(30):
            task = asyncio.create_task(take())
            await waits.wait()
            assert not task.done()
            async with store.locked("other", pytest.fail):
                pass
            holder.kill()
            await task
    finally:
        holder.kill()
        holder.stdout.close()
        holder.wait(30)


_HOLD = """
import asyncio, sys
from pathlib import Path
from vixio.providers.downloads.store import ModelStore

async def main():
    async with ModelStore(Path(sys.argv[1])).locked("a-model", lambda: None):
        print("held", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""
