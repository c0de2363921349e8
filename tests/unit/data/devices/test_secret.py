"""The secret of the tokens is made once, and nobody else can read it."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vixio.core.errors import ConfigError
from vixio.data.devices.secret import load_secret


def test_it_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    secret = load_secret(folder)
    assert len(secret) == 64
    assert load_secret(folder) == secret
    assert [each.name for each in folder.iterdir()] == ["token_secret"]
    assert stat.S_IMODE((folder / "token_secret").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_processes_that_start_together_agree_on_one(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as threads:
        found = set(threads.map(lambda _: load_secret(tmp_path / "data"), range(64)))
    assert len(found) == 1


@pytest.mark.parametrize(
    ("mode", "content", "words"),
    [(0o644, "x" * 64, "chmod 600"), (0o600, "short", "too short"), (0o600, "", "too short")],
)
def test_a_file_that_is_no_secret_is_refused(
    tmp_path: Path, mode: int, content: str, words: str
) -> None:
    path = tmp_path / "token_secret"
    path.write_text(content)
    path.chmod(mode)
    with pytest.raises(ConfigError, match=words):
        load_secret(tmp_path)


def test_a_folder_that_cannot_be_written_is_named_with_the_remedy() -> None:
    with pytest.raises(ConfigError, match=r"/proc/nowhere/token_secret: .*set data\.folder"):
        load_secret(Path("/proc/nowhere"))
