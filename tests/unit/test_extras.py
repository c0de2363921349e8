"""Extras: project, locks, messages and documents name the same ones, in one form."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from vixio.core import extras
from vixio.core.extras import Extra, how_to_install, how_to_repair

ROOT = Path(__file__).resolve().parents[2]

BY_NAME = re.compile(
    r"vixio\[|\bpip3? (?:install|download) [^\n`|&;]*?(?<![-./\w])vixio(?![-./\w])"
)
"""pip that asks an index for this project's name, which there is another's."""

NAMED = re.compile(r"""\bmake (?:extra NAME|docker EXTRAS)=(?:"([^"]*)"|([\w-]+))""")


def in_project() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return set(project["optional-dependencies"])


@cache
def texts() -> tuple[tuple[str, str], ...]:
    """Return path and text of every tracked file but the history of changes."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip("no git checkout, so what is tracked is not known")
    tracked = [name for name in done.stdout.split("\0") if name and name != "CHANGELOG.md"]
    return tuple(
        (name, path.read_text("utf-8", errors="ignore"))
        for name in tracked
        if (path := ROOT / name).is_file()
    )


@pytest.mark.slow
def test_nothing_tells_pip_to_install_the_project_by_its_name() -> None:
    found = [f"{name}: {hit[0]}" for name, text in texts() for hit in BY_NAME.finditer(text)]
    assert found == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("pip install '{}[edge]'", True),
        ("pip install {}", True),
        ("pip install --upgrade {}", True),
        ("python -m pip install ./{}-*.whl", False),
        ("pip install edge-tts && {} serve", False),
    ],
)
def test_the_form_that_is_kept_out_is_recognised(text: str, *, found: bool) -> None:
    assert bool(BY_NAME.search(text.format("vixio"))) is found


def test_messages_know_the_extras_of_the_project() -> None:
    assert set(get_args(Extra)) == in_project() - {"dev"}
    assert set(extras.BESIDES) <= in_project()


@pytest.mark.parametrize("extra", sorted(in_project()))
def test_each_extra_has_a_lock(extra: str) -> None:
    assert (ROOT / "requirements" / f"{extra}.lock").is_file(), "run `make lock`"


def test_each_step_behind_a_lock_belongs_to_an_extra() -> None:
    steps = {path.stem for path in (ROOT / "scripts" / "extras").iterdir()}
    assert steps
    assert steps <= in_project()


@pytest.mark.slow
def test_what_is_named_to_people_exists() -> None:
    named = {
        (each, name)
        for name, text in texts()
        for hit in NAMED.finditer(text)
        for each in (hit[1] or hit[2] or "").split()
        if each not in {"NAME", "…"}
    }
    assert {"edge", "funasr", "a2a"} <= {each for each, _ in named}
    assert [place for place in named if place[0] not in in_project()] == []


# ------------------------------------------------------------------- the command in a message


def test_in_a_checkout_it_is_make(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "prefix", str(ROOT / ".venv"))
    assert how_to_install("edge") == "make extra NAME=edge"
    assert how_to_install("edge", "mp3") == "make extra NAME='edge mp3'"
    assert how_to_repair() == "make -B setup"
    monkeypatch.setattr(sys, "prefix", "/opt/my env")
    assert how_to_install("edge") == "make extra NAME=edge VENV='/opt/my env'"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "prefix", str(ROOT / ".venv"))
    assert how_to_install("edge") == f"make -C {shlex.quote(str(ROOT))} extra NAME=edge"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A directory with the module as a wheel installs it, and with the wheel's metadata."""
    core = tmp_path / "vixio" / "core"
    core.mkdir(parents=True)
    for package in (core.parent, core):
        (package / "__init__.py").touch()
    shutil.copy(ROOT / "vixio" / "core" / "extras.py", core)
    make = "import sys, hatchling.build as b; b.prepare_metadata_for_build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", make, tmp_path], cwd=ROOT, check=True, timeout=60)
    return tmp_path


def said(site: Path, *names: str, **environment: str) -> str:
    """Return what the installed module answers in a process of its own."""
    ask = "import sys; from vixio.core.extras import *; print(how_to_install(*sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", ask, *names],
        cwd=site,
        env={"PYTHONPATH": str(site), **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.strip()


@pytest.mark.slow
def test_an_installed_copy_names_the_packages_themselves(installed: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install"]
    words = shlex.split(said(installed, "edge"))
    assert words[:4] == pip
    assert [re.split(r"[<>=]", word)[0] for word in words[4:]] == ["edge-tts", "miniaudio"]
    assert all("<" in word for word in words[4:])  # with the supported versions
    assert shlex.split(said(installed, "funasr"))[-1] == "torch"
    for name in get_args(Extra):
        words = shlex.split(said(installed, name))
        assert words[:4] == pip
        assert len(words) > 4
        assert "vixio" not in words


@pytest.mark.slow
def test_an_image_is_built_anew(installed: Path) -> None:
    assert said(installed, "edge", "mp3", VIXIO_IMAGE="1") == "make docker EXTRAS='edge mp3'"
    assert f"{extras.IN_IMAGE}=1" in (ROOT / "Dockerfile").read_text("utf-8")
