"""An archive gives what is wanted of it, and nothing else."""

from __future__ import annotations

import bz2
import io
import os
import tarfile
import threading
from pathlib import Path

import pytest

from vixio.providers.downloads import unpack as module
from vixio.providers.downloads.digests import Stopped
from vixio.providers.downloads.errors import Trouble
from vixio.providers.downloads.unpack import Target, unpack

DATA = os.urandom(300_000)


def member(name: str, data: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, data


def packed(path: Path, *members: tuple[tarfile.TarInfo, bytes], mode: str = "w:bz2") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload] # a str is enough
        for info, data in members:
            archive.addfile(info, io.BytesIO(data) if info.isreg() else None)
    return path


def taken(archive: Path, folder: Path, *names: str, most: int = 10**6) -> dict[str, bytes]:
    folder.mkdir(exist_ok=True)
    targets = {name: Target(folder / f"file-{at}", most) for at, name in enumerate(names)}
    seen: list[int] = []
    unpack(archive, targets, threading.Event(), seen.append)
    assert seen == sorted(seen)
    return {name: target.path.read_bytes() for name, target in targets.items()}


@pytest.mark.parametrize(
    ("suffix", "mode"), [(".bz2", "w:bz2"), (".gz", "w:gz"), (".xz", "w:xz"), (".tar", "w")]
)
def test_the_wanted_files(tmp_path: Path, suffix: str, mode: str) -> None:
    archive = packed(
        tmp_path / f"a{suffix}",
        member("top/", type=tarfile.DIRTYPE),
        member("./top/model.onnx", DATA),
        member("top/test_wavs/0.wav", DATA),
        member("top/tokens.txt", b"a 0\n"),
        mode=mode,
    )
    found = taken(archive, tmp_path / "out", "top/model.onnx", "top/tokens.txt")
    assert found == {"top/model.onnx": DATA, "top/tokens.txt": b"a 0\n"}
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_paths_and_links_lead_nowhere(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"mine")
    archive = packed(
        tmp_path / "a.bz2",
        member("../escaped", b"x"),
        member("/tmp/escaped-too", b"x"),  # noqa: S108 - a hostile name
        member("top/model.onnx", type=tarfile.SYMTYPE, linkname=str(secret)),
        member("top/tokens.txt", type=tarfile.LNKTYPE, linkname="../../secret"),
        member("top/device", type=tarfile.CHRTYPE),
    )
    with pytest.raises(Trouble, match=r"without top/model\.onnx, top/tokens\.txt"):
        taken(archive, tmp_path / "out", "top/model.onnx", "top/tokens.txt")
    assert list((tmp_path / "out").iterdir()) == []
    assert not (tmp_path / "escaped").exists()
    assert secret.read_bytes() == b"mine"


def test_a_link_before_the_file_is_passed_over(tmp_path: Path) -> None:
    archive = packed(
        tmp_path / "a.bz2",
        member("top/model.onnx", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        member("top/model.onnx", DATA),
    )
    assert taken(archive, tmp_path / "out", "top/model.onnx") == {"top/model.onnx": DATA}


def test_a_member_that_is_too_large(tmp_path: Path) -> None:
    archive = packed(tmp_path / "a.bz2", member("top/model.onnx", DATA))
    with pytest.raises(Trouble, match="far too large"):
        taken(archive, tmp_path / "out", "top/model.onnx", most=len(DATA) - 1)


def test_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SPARE", 1_000_000)
    archive = packed(
        tmp_path / "a.bz2", member("zeros", bytes(40_000_000)), member("top/model.onnx", DATA[:10])
    )
    assert archive.stat().st_size < 10_000
    with pytest.raises(Trouble, match="far more than it should"):
        taken(archive, tmp_path / "out", "top/model.onnx")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_a_header_that_is_too_long(tmp_path: Path, kind: bytes) -> None:
    info = tarfile.TarInfo("long")
    info.type = kind
    info.size = 50_000_000
    path = tmp_path / "a.bz2"
    path.write_bytes(bz2.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(50_000_000)))
    with pytest.raises(Trouble, match="header is too long"):
        taken(path, tmp_path / "out", "top/model.onnx")


def test_a_long_name_is_fine(tmp_path: Path) -> None:
    name = "top/" + "n" * 300
    archive = packed(tmp_path / "a.bz2", member(name, DATA))
    assert taken(archive, tmp_path / "out", name) == {name: DATA}


@pytest.mark.parametrize("cut", [10, 1000, 200_000])
def test_a_truncated_archive(tmp_path: Path, cut: int) -> None:
    archive = packed(tmp_path / "a.bz2", member("top/model.onnx", DATA))
    archive.write_bytes(archive.read_bytes()[:cut])
    with pytest.raises(Trouble, match=r"broken archive|without"):
        taken(archive, tmp_path / "out", "top/model.onnx")


@pytest.mark.parametrize("suffix", [".bz2", ".gz", ".xz", ".tar"])
def test_no_archive_at_all(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(DATA)
    with pytest.raises(Trouble, match="broken archive"):
        taken(path, tmp_path / "out", "top/model.onnx")


def test_an_unknown_kind(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match=r"unknown kind: a\.zip"):
        taken(tmp_path / "a.zip", tmp_path / "out", "model.onnx")


def test_it_can_be_stopped(tmp_path: Path) -> None:
    archive = packed(tmp_path / "a.bz2", member("top/model.onnx", DATA))
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        unpack(archive, {"x": Target(tmp_path / "x", 10)}, stop, lambda _: None)
