"""What ``vixio serve`` prints when it listens."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from vixio.cli.banner import banner, runnable
from vixio.cluster.context import ServerInfo

ABOUT = ServerInfo("127.0.0.1", 8000, 8003, {"vad": "silero", "asr": "x"}, "en", tokens=False)


def test_it_says_what_is_true() -> None:
    text = banner(ABOUT, "./vixio.yaml")
    assert "listens for devices  (settings: ./vixio.yaml)" in text
    assert "http://127.0.0.1:8003/xiaozhi/ota/ " in text
    assert "the log says `all providers are ready` when they have" in text
    assert "is ready" not in text
    assert "console       http://127.0.0.1:8003/console/ " in text


@pytest.mark.parametrize(
    ("host", "alone"), [("127.0.0.1", True), ("::1", True), ("192.0.2.7", False), ("me.lan", False)]
)
def test_it_says_when_no_device_can_reach_it(host: str, alone: bool) -> None:
    text = banner(replace(ABOUT, host=host), "./vixio.yaml")
    assert ("Only this computer reaches" in text) == alone


def test_it_names_no_console_where_there_is_none() -> None:
    assert "console" not in banner(replace(ABOUT, console=False), "./vixio.yaml")


def test_it_names_the_port_of_mqtt() -> None:
    assert "MQTT" not in banner(ABOUT, "./vixio.yaml")
    assert "  MQTT          port 1883\n" in banner(replace(ABOUT, mqtt_port=1883), "./vixio.yaml")


def test_it_says_that_a2a_needs_no_token() -> None:
    assert "A2A" not in banner(ABOUT, "./vixio.yaml")
    text = banner(replace(ABOUT, a2a_without_token=True), "./vixio.yaml")
    assert "A2A without a token for programs of this machine: http://127.0.0.1:8003/a2a\n" in text
    assert "a2a.loopback_without_token" in text


def test_its_command_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "my env" / "bin"
    programs.mkdir(parents=True)
    program = programs / "firmware-test-client"
    program.touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(programs / "python"))
    monkeypatch.setenv("PATH", os.defpath)
    assert runnable("firmware-test-client") == f"'{program}'"
    monkeypatch.chdir(tmp_path)
    assert runnable("firmware-test-client") == "'my env/bin/firmware-test-client'"
    monkeypatch.setenv("PATH", str(programs))
    assert runnable("firmware-test-client") == "firmware-test-client"
    program.unlink()  # not installed here: nothing better is known
    assert runnable("firmware-test-client") == "firmware-test-client"
