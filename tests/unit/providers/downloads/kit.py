"""What tests of installation have in common: an archive, what is installed, damage."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path

from tests.unit.providers.downloads.conftest import REPO
from vixio.providers.downloads.catalogue import MANIFEST
from vixio.providers.downloads.store import ModelStore

ARCHIVE = {
    "hub": "github",
    "repo": REPO,
    "revision": "asr-models",
    "archive": "a-model.tar.bz2",
    "folder": "a-model",
}


def tarball(files: Mapping[str, bytes], folder: str = "a-model") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:bz2") as archive:
        for name, data in {**files, "test_wavs/0.wav": b"RIFF"}.items():
            info = tarfile.TarInfo(f"{folder}/{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def installed(store: ModelStore) -> dict[str, bytes]:
    """The files of the model, without the manifest; nothing unfinished lies about."""
    folder = store.place("a-model")
    found = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert found.pop(MANIFEST)
    assert not store.staging("a-model").exists()
    return found


def damage(path: Path, how: str) -> None:
    if how == "missing":
        path.unlink()
    elif how == "short":
        os.truncate(path, 3)
    else:
        data = bytearray(path.read_bytes())
        data[2] ^= 1
        path.write_bytes(data)
