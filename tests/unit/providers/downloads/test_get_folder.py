"""Models from a folder: a copy of a hub, and the models folder of another machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.hub import (
    HubServer,
    hugging_face,
)
from tests.unit.providers.downloads.conftest import BIG, FILES, HUGGING_FACE, REPO, SMALL, entry
from tests.unit.providers.downloads.kit import ARCHIVE, damage, installed, tarball
from vixio.providers.downloads.errors import ModelError
from vixio.providers.downloads.get import get
from vixio.providers.downloads.hubs import Hubs
from vixio.providers.downloads.store import ModelStore
from vixio.providers.downloads.web import Web


def lay(folder: Path, files: Mapping[str, bytes]) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


NESTED = {"lang/model.onnx": BIG, "tokens.txt": SMALL}


@pytest.mark.parametrize(
    "files",
    [
        NESTED,
        {f"a-model/{name}": data for name, data in NESTED.items()},
        {"model.onnx": BIG, "tokens.txt": SMALL},
        {"a-model.tar.bz2": tarball(NESTED)},
    ],
)
@pytest.mark.parametrize("pinned", [True, False])
async def test_from_a_folder(
    web: Web,
    hub: HubServer,
    store: ModelStore,
    hubs: Hubs,
    tmp_path: Path,
    files: dict[str, bytes],
    pinned: bool,
) -> None:
    folder = lay(tmp_path / "stick", files)
    model = entry(HUGGING_FACE, ARCHIVE, pinned=pinned, files=NESTED)
    done = await get(model, store, web, hubs, offline=folder)
    assert installed(store) == NESTED
    assert {file.checked for file in done.files} == {"catalogue" if pinned else "nothing"}
    assert done.source == str(folder)
    assert hub.requests == []


@pytest.mark.parametrize("inside", [True, False])
async def test_from_the_models_folder_of_another_machine(
    web: Web, hub: HubServer, store: ModelStore, hubs: Hubs, tmp_path: Path, inside: bool
) -> None:
    """What it has noted counts, where the catalogue pins nothing."""
    hugging_face(hub, REPO, FILES)
    model = entry(pinned=False)
    there = await get(model, ModelStore(tmp_path / "other"), web, hubs)
    folder = there.folder if inside else there.folder.parent
    hub.requests.clear()
    done = await get(model, store, web, hubs, offline=folder)
    assert {file.checked for file in done.files} == {"hub"}
    assert hub.requests == []
    await store.remove("a-model")
    damage(there.folder / "tokens.txt", "changed")
    with pytest.raises(ModelError, match=r"not all of a-model: tokens\.txt .*has the SHA-256"):
        await get(model, store, web, hubs, offline=folder)


async def test_a_folder_with_other_files(
    web: Web, store: ModelStore, hubs: Hubs, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match="there is no folder"):
        await get(entry(), store, web, hubs, offline=tmp_path / "nowhere")
    folder = lay(tmp_path / "stick", {"tokens.txt": b"other", "a-model.tar.bz2": b"broken"})
    with pytest.raises(ModelError) as refused:
        await get(entry(HUGGING_FACE, ARCHIVE), store, web, hubs, offline=folder)
    assert "model.int8.onnx, tokens.txt" in str(refused.value)
    assert "tokens.txt has 5 bytes instead of 8" in str(refused.value)
    assert "a-model.tar.bz2: a broken archive" in str(refused.value)
    huge = lay(tmp_path / "huge", {**FILES, "model.int8.onnx": BIG * 10})
    with pytest.raises(ModelError, match=r"bytes instead of|far larger"):
        await get(entry(pinned=False), store, web, hubs, offline=huge)
