"""A model is installed whole or not at all, from the first source that works."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.hub import (
    Fault,
    HubServer,
    another,
    cut,
    github,
    hugging_face,
    modelscope,
    sha256,
    stalled,
    status,
    web_page,
)
from tests.unit.providers.downloads.conftest import (
    BIG,
    FILES,
    HUGGING_FACE,
    MODELSCOPE,
    REPO,
    SMALL,
    entry,
)
from tests.unit.providers.downloads.kit import ARCHIVE, damage, installed, tarball
from vixio.providers.downloads.catalogue import Model
from vixio.providers.downloads.errors import ModelError
from vixio.providers.downloads.get import get, plan
from vixio.providers.downloads.hubs import Hubs, Mirror
from vixio.providers.downloads.progress import Progress
from vixio.providers.downloads.store import ModelStore
from vixio.providers.downloads.web import Web


def resolved(hub: HubServer, name: str) -> str:
    return f"/{REPO}/resolve/main/{name}"


async def test_from_hugging_face_over_a_cdn(
    web: Web, hub: HubServer, cdn: HubServer, store: ModelStore, hubs: Hubs
) -> None:
    hugging_face(hub, REPO, FILES, cdn=cdn)
    seen: list[Progress] = []
    model = await get(entry(), store, web, hubs, report=seen.append)
    assert installed(store) == FILES
    assert (model.size, model.source) == (len(BIG) + len(SMALL), hubs.mirrors[0].label)
    assert {file.checked for file in model.files} == {"catalogue"}
    assert store.installed() == {"a-model": model}
    # With everything pinned, nothing is asked but the files.
    assert hub.paths() == [resolved(hub, name) for name in FILES]
    loading = [each for each in seen if each.stage == "downloading"]
    assert (loading[0].done, loading[-1].done, loading[-1].total) == (0, model.size, model.size)


async def test_what_the_hub_states_is_what_counts_without_pins(
    web: Web, hub: HubServer, store: ModelStore, hubs: Hubs
) -> None:
    hugging_face(hub, REPO, FILES)
    model = await get(entry(pinned=False), store, web, hubs)
    assert installed(store) == FILES
    assert {file.checked for file in model.files} == {"hub"}


@pytest.mark.parametrize("name", list(FILES))
async def test_a_file_that_is_not_what_the_hub_states(
    web: Web, hub: HubServer, store: ModelStore, hubs: Hubs, name: str
) -> None:
    hugging_face(hub, REPO, FILES)
    hub.fail(resolved(hub, name), another)
    with pytest.raises(ModelError, match="another file than expected"):
        await get(entry(pinned=False), store, web, hubs)
    assert store.installed() == {}
    assert not store.place("a-model").exists()


async def test_a_hub_with_another_version_than_the_catalogue_knows(
    web: Web, hub: HubServer, store: ModelStore, hubs: Hubs
) -> None:
    modelscope(hub, REPO, {**FILES, "model.int8.onnx": BIG[::-1]})
    hugging_face(hub, REPO, FILES)
    half = entry(MODELSCOPE, HUGGING_FACE)
    (part,) = half.parts
    loose = part.files[1].model_copy(update={"sha256": None})  # so that the hub is asked
    model = half.model_copy(
        update={"parts": (part.model_copy(update={"files": (part.files[0], loose)}),)}
    )
    seen: list[Progress] = []
    await get(model, store, web, hubs, report=seen.append)
    assert installed(store) == FILES
    (trouble,) = [each.text for each in seen if each.stage == "trouble"]
    assert "another version than the catalogue knows" in trouble


@pytest.mark.parametrize(
    "fault", [another, web_page, status(404), status(401), status(429, Retry_After="999")]
)
async def test_the_next_source_is_tried(
    web: Web, hub: HubServer, store: ModelStore, hubs: Hubs, fault: Fault
) -> None:
    hugging_face(hub, REPO, FILES)
    modelscope(hub, REPO, FILES)
    hub.fail(resolved(hub, "tokens.txt"), fault)
    model = await get(entry(HUGGING_FACE, MODELSCOPE), store, web, hubs)
    assert installed(store) == FILES
    # What the first source gave is not fetched again.
    assert hub.paths().count(f"/models/{REPO}/resolve/master/model.int8.onnx") == 0
    assert model.source == hubs.mirrors[1].label


async def test_versions_of_two_sources_are_not_mixed(
    web: Web, hub: HubServer, store: ModelStore, hubs: Hubs
) -> None:
    """Nothing is pinned, and the first source breaks down when it has given one file."""
    older = {"tokens.txt": b"older\n", "model.int8.onnx": BIG[::-1]}
    modelscope(hub, REPO, older)
    hugging_face(hub, REPO, FILES)
    hub.fail(f"/models/{REPO}/resolve/master/model.int8.onnx", status(404))
    model = entry(MODELSCOPE, HUGGING_FACE, pinned=False, files=older)
    await get(model, store, web, hubs)
    assert installed(store) == FILES


async def test_a_mirror_goes_on_with_what_the_first_one_began(
    web: Web, hub: HubServer, cdn: HubServer, store: ModelStore
) -> None:
    hugging_face(hub, REPO, FILES)
    hugging_face(cdn, REPO, FILES)
    hub.fail(resolved(hub, "model.int8.onnx"), cut(200_000), *[status(503)] * 9)
    hubs = Hubs((Mirror("huggingface", hub.base), Mirror("huggingface", cdn.base)))
    await get(entry(), store, web, hubs)
    assert installed(store) == FILES
    assert cdn.requests[0].headers["range"] == "bytes=200000-"


async def test_an_unreachable_host_is_tried_once(
    web: Web, hub: HubServer, cdn: HubServer, store: ModelStore
) -> None:
    hugging_face(hub, REPO, FILES)
    model = entry()
    one, other = (
        model.parts[0].model_copy(update={"files": (file,)}) for file in model.parts[0].files
    )
    model = model.model_copy(update={"parts": (one, other)})
    nowhere = Mirror("huggingface", "http://127.0.0.1:9")
    seen: list[Progress] = []
    hubs = Hubs((nowhere, Mirror("huggingface", hub.base)))
    await get(model, store, web, hubs, report=seen.append)
    assert installed(store) == FILES
    (trouble,) = [each.text for each in seen if each.stage == "trouble"]
    assert trouble.startswith("127.0.0.1:9: no connection")


async def test_when_nothing_works_all_reasons_are_told(
    web: Web, hub: HubServer, store: ModelStore, hubs: Hubs
) -> None:
    hub.fail(resolved(hub, "model.int8.onnx"), status(403))
    with pytest.raises(ModelError) as failed:
        await get(entry(HUGGING_FACE, MODELSCOPE, ARCHIVE), store, web, hubs)
    told = str(failed.value)
    assert "access refused (HTTP 403): a model with conditions" in told
    assert "not there any more (HTTP 404: model.int8.onnx)" in told
    assert "not there any more (HTTP 404: a-model.tar.bz2)" in told
    assert "--from FOLDER" in told
    assert "\n" not in told


# ── archives ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize("digests", [True, False])
async def test_from_an_archive(
    web: Web, hub: HubServer, store: ModelStore, hubs: Hubs, pinned: bool, digests: bool
) -> None:
    github(hub, REPO, "asr-models", {"a-model.tar.bz2": tarball(FILES)}, digests=digests)
    model = await get(entry(ARCHIVE, pinned=pinned), store, web, hubs)
    assert installed(store) == FILES
    by = "catalogue" if pinned else "hub" if digests else "size"
    assert {file.checked for file in model.files} == {by}
    assert (len(hub.requests) == 1) is pinned


async def test_an_archive_with_another_file_in_it(
    web: Web, hub: HubServer, store: ModelStore, hubs: Hubs
) -> None:
    wrong = tarball({**FILES, "tokens.txt": b"b 0\na 1\n"})
    github(hub, REPO, "asr-models", {"a-model.tar.bz2": wrong})
    with pytest.raises(ModelError, match=r"archive with another tokens\.txt: it has the SHA-256"):
        await get(entry(ARCHIVE), store, web, hubs)
    assert store.installed() == {}


async def test_an_archive_of_which_nothing_is_known(
    web: Web, hub: HubServer, store: ModelStore, hubs: Hubs
) -> None:
    hub.put(f"/{REPO}/releases/download/asr-models/a-model.tar.bz2", tarball(FILES))
    model = await get(entry(ARCHIVE, pinned=False), store, web, hubs)
    assert {file.checked for file in model.files} == {"nothing"}


async def test_an_archive_that_was_fetched_is_not_fetched_again(
    web: Web, hub: HubServer, store: ModelStore, hubs: Hubs, tmp_path: Path
) -> None:
    """Unpacking failed or was interrupted, as by a full disk."""
    packed = tarball(FILES)
    archive = {**ARCHIVE, "size": len(packed), "sha256": sha256(packed)}
    store.prepare("a-model")
    (store.staging("a-model") / "a-model.tar.bz2").write_bytes(packed)
    await get(entry(archive), store, web, hubs)
    assert installed(store) == FILES
    assert hub.requests == []


# ── interruption, repair, two at once ────────────────────────────────────────────────────────────


async def interrupted(
    model: Model, hub: HubServer, store: ModelStore, web: Web, hubs: Hubs
) -> None:
    arrived = asyncio.Event()

    def report(progress: Progress) -> None:
        if progress.done == 120_000:
            arrived.set()

    hub.fail(resolved(hub, "model.int8.onnx"), stalled(hub, 120_000))
    task = asyncio.create_task(get(model, store, web, hubs, report=report))
    async with asyncio.timeout(30):
        await arrived.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_interrupted_one_is_not_visible_and_goes_on(
    web: Web, hub: HubServer, store: ModelStore, hubs: Hubs
) -> None:
    hugging_face(hub, REPO, FILES)
    await interrupted(entry(), hub, store, web, hubs)
    assert store.installed() == {}
    assert (await plan(entry(), store, web, hubs)).arrived > 120_000
    await get(entry(), store, web, hubs)
    assert installed(store) == FILES
    assert hub.requests[1].headers["range"] == "bytes=120000-"


async def test_two_at_once_fetch_once(
    web: Web, hub: HubServer, store: ModelStore, hubs: Hubs
) -> None:
    hugging_face(hub, REPO, FILES)
    seen: list[Progress] = []
    first, second = await asyncio.gather(
        *(get(entry(), store, web, hubs, report=seen.append) for _ in range(2))
    )
    assert first == second
    assert [each.stage for each in seen].count("waiting") == 1  # either of them
    assert len(hub.requests) == len(FILES)


async def test_a_whole_one_is_left_as_it_is(
    web: Web, hub: HubServer, store: ModelStore, hubs: Hubs
) -> None:
    hugging_face(hub, REPO, FILES)
    first = await get(entry(), store, web, hubs)
    hub.requests.clear()
    assert await get(entry(), store, web, hubs) == first
    assert hub.requests == []


@pytest.mark.parametrize("how", ["missing", "short", "changed"])
@pytest.mark.parametrize("pinned", [True, False])
async def test_a_damaged_file_is_found_and_mended(
    web: Web, hub: HubServer, store: ModelStore, hubs: Hubs, how: str, pinned: bool
) -> None:
    hugging_face(hub, REPO, FILES)
    model = await get(entry(pinned=pinned), store, web, hubs)
    damage(model.folder / "tokens.txt", how)
    (fault,) = await store.faults(model)
    assert fault.file == "tokens.txt"
    hub.requests.clear()
    await get(entry(pinned=pinned), store, web, hubs)
    assert installed(store) == FILES
    assert await store.faults(model) == []
    assert resolved(hub, "model.int8.onnx") not in hub.paths()


async def test_a_newer_catalogue_replaces_what_changed(
    web: Web, hub: HubServer, store: ModelStore, hubs: Hubs
) -> None:
    hugging_face(hub, REPO, {**FILES, "older.txt": b"x"})
    await get(entry(files={**FILES, "older.txt": b"x"}), store, web, hubs)
    newer = {**FILES, "tokens.txt": b"c 0\n"}
    hugging_face(hub, REPO, newer)
    hub.requests.clear()
    await get(entry(files=newer), store, web, hubs)
    assert installed(store) == newer
    assert hub.paths() == [resolved(hub, "tokens.txt")]


async def test_a_folder_of_someone_else_is_left_alone(
    web: Web, store: ModelStore, hubs: Hubs
) -> None:
    store.place("a-model").mkdir(parents=True)
    with pytest.raises(ModelError, match="move it away first"):
        await get(entry(), store, web, hubs)


# ── room ─────────────────────────────────────────────────────────────────────────────────────────


async def test_a_disk_without_room_is_told_before(
    web: Web, hub: HubServer, store: ModelStore, hubs: Hubs, monkeypatch: pytest.MonkeyPatch
) -> None:
    hugging_face(hub, REPO, FILES)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=100_000))
    with pytest.raises(ModelError, match=r"needs 0 MB, .* has 0 MB free; another place: --folder"):
        await get(entry(), store, web, hubs)
    assert hub.requests == []


async def test_a_disk_that_gets_full_while_unpacking(
    web: Web, hub: HubServer, store: ModelStore, hubs: Hubs
) -> None:
    """What a full disk answers is what /dev/full does. Nothing is fetched again."""
    packed = tarball(FILES)
    archive = {**ARCHIVE, "size": len(packed), "sha256": sha256(packed)}
    github(hub, REPO, "asr-models", {"a-model.tar.bz2": packed})
    store.prepare("a-model")
    (store.staging("a-model") / "unpacked-0").symlink_to("/dev/full")
    with pytest.raises(ModelError, match="is full; free some space and run the command again"):
        await get(entry(archive), store, web, hubs)
    await get(entry(archive), store, web, hubs)
    assert installed(store) == FILES
    assert len(hub.requests) == 1


async def test_a_folder_that_cannot_be_written(web: Web, hubs: Hubs, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelError, match="cannot write"):
        await get(entry(), ModelStore(tmp_path / "file"), web, hubs)


# ── plans ────────────────────────────────────────────────────────────────────────────────────────


async def test_a_plan_asks_only_for_what_the_catalogue_lacks(
    web: Web, hub: HubServer, store: ModelStore, hubs: Hubs
) -> None:
    its = await plan(entry(), store, web, hubs)
    assert (its.size, its.stated, hub.requests) == (len(BIG) + len(SMALL), True, [])
    about = await plan(entry(pinned=False), store, web, hubs)
    assert (about.size, about.stated) == (len(BIG) + len(SMALL) + 18, False)
    hugging_face(hub, REPO, FILES)
    stated = await plan(entry(pinned=False), store, web, hubs)
    assert (stated.size, stated.stated) == (len(BIG) + len(SMALL), True)
    assert stated.hosts == (hubs.mirrors[0].label,)


# ── from a folder ────────────────────────────────────────────────────────────────────────────────
