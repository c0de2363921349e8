"""What is run on this machine: the installer of extras, a server's list of models, MCP servers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from vixio.cli.setup.choices import VOICES
from vixio.cli.setup.trial import SetupTrials, install
from vixio.cli.setup.words import Words
from vixio.core import extras
from vixio.core.errors import ConfigError

ROOT = Path(__file__).resolve().parents[4]
SERVER = ROOT / "tests" / "support" / "mcp_server.py"


def trials() -> SetupTrials:
    return SetupTrials(lambda _: None, lambda: Words("en"))


def test_a_checkout_runs_its_installer_for_the_environment_that_runs() -> None:
    ran: list[list[str]] = []

    def run(command: list[str]) -> int:
        ran.append(command)
        return 0

    install(["moonshine", "joe"], run)
    assert ran == [[str(ROOT / "scripts/install_extra.sh"), sys.prefix, "moonshine", "joe"]]
    assert (ROOT / "scripts" / "install_extra.sh").is_file()


def test_elsewhere_pip_installs_what_the_metadata_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "checkout", lambda: None)
    monkeypatch.setattr(extras, "requires", lambda _: ["edge-tts>=7; extra == 'edge'", "click"])
    monkeypatch.delenv(extras.IN_IMAGE, raising=False)
    assert extras.install_command("edge") == [sys.executable, "-m", "pip", "install", "edge-tts>=7"]
    monkeypatch.setenv(extras.IN_IMAGE, "1")
    assert extras.install_command("edge") is None
    with pytest.raises(ConfigError, match="make docker EXTRAS=edge"):
        install(["edge"], lambda _: 0)


def test_an_installation_that_fails_names_the_command() -> None:
    with pytest.raises(ConfigError, match=r"joe could not be installed.*extra NAME=joe"):
        install(["joe"], lambda _: 1)


def test_the_installer_is_really_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With one that only notes its arguments: installing needs an index of packages."""
    noted = tmp_path / "arguments"
    script = tmp_path / "scripts" / "install_extra.sh"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\necho "$@" > {noted}\n', "utf-8")
    script.chmod(0o755)
    monkeypatch.setattr(extras, "checkout", lambda: tmp_path)
    (joe,) = [each for each in VOICES if each.name == "joe"]
    trials().install([joe])
    assert noted.read_text("utf-8").split() == [sys.prefix, "joe"]


@pytest.mark.slow
def test_the_tools_of_a_server_are_counted() -> None:
    server = {"command": sys.executable, "args": [str(SERVER), "stdio"]}
    assert trials().tools("trouble", server) > 3
    with pytest.raises(ConfigError, match="there is no file /no/such/program"):
        trials().tools("none", {"command": "/no/such/program"})
