"""``vixio service``, with programs in the place of systemd's that note what they are told."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from vixio.cli import service
from vixio.cli.commands import main

Told = Callable[[], list[str]]


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
    """Return what systemctl and loginctl were told so far. The user is no root, but has a home."""
    noted = tmp_path / "told"
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("systemctl", "loginctl"):
        program = programs / name
        program.write_text(
            f'#!/bin/sh\necho {name} "$@" >> {noted}\n'
            'case " $* " in *" refuse "*) echo no bus >&2; exit 1;; esac\n'
        )
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(service, "BOOTED", tmp_path)
    (tmp_path / "my house 100%").mkdir()
    monkeypatch.chdir(tmp_path / "my house 100%")
    Path("vixio.yaml").write_text("assistant: {language: en}\n")
    return lambda: noted.read_text().splitlines() if noted.exists() else []


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["service", *arguments])


def command(unit: Path) -> Sequence[str]:
    (line,) = [each for each in unit.read_text().splitlines() if each.startswith("ExecStart=")]
    return line.removeprefix("ExecStart=").strip('"').split('" "')


def test_it_is_written_started_and_removed(told: Told, tmp_path: Path) -> None:
    unit = tmp_path / "config" / "systemd" / "user" / "vixio.service"
    done = run()
    assert done.exit_code == 0, done.output
    assert told() == [
        "systemctl --user daemon-reload",
        "systemctl --user enable vixio.service",
        "systemctl --user restart vixio.service",
        "loginctl enable-linger",
    ]
    settings = str(Path("vixio.yaml").absolute()).replace("%", "%%")
    assert command(unit)[-3:] == ["serve", "--config", settings]
    assert f"WorkingDirectory={str(Path.cwd()).replace('%', '%%')}\n" in unit.read_text()
    assert "journalctl --user -u vixio.service -f" in done.output

    done = run("--remove")
    assert done.exit_code == 0, done.output
    assert told()[4:] == [
        "systemctl --user disable --now vixio.service",
        "systemctl --user daemon-reload",
    ]
    assert not unit.exists()


def test_settings_that_do_not_load_are_no_service(told: Told, tmp_path: Path) -> None:
    Path("vixio.yaml").write_text("assistant: {langage: en}\n")
    done = run()
    assert done.exit_code == 2
    assert "assistant.langage" in done.output
    assert told() == []
    assert not (tmp_path / "config").exists()


def test_what_systemd_says_is_passed_on(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "UNIT", "refuse")
    done = run()
    assert done.exit_code == 2
    assert "vixio: systemctl --user enable refuse: no bus" in done.output


def test_without_systemd_it_names_the_command(
    told: Told, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(service, "BOOTED", tmp_path / "none")
    done = run()
    assert done.exit_code == 2
    assert "does not run systemd" in done.output
    assert "serve`" in done.output
    assert told() == []


@pytest.mark.parametrize("folder", ["my house 100%", 'a "b" $HOME'])
def test_systemd_understands_the_unit(
    told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is part of systemd, which this machine has not")
    place = tmp_path / folder
    place.mkdir(exist_ok=True)
    monkeypatch.chdir(place)
    Path("other.yaml").write_text("assistant: {language: en}\n")
    done = run("--print", "--config", "other.yaml")
    unit = tmp_path / "vixio.service"
    unit.write_text(done.output)
    checked = subprocess.run(
        [program, "verify", str(unit)], capture_output=True, text=True, check=False, timeout=60
    )
    assert [line for line in checked.stderr.splitlines() if unit.name in line] == []
    assert told() == []
