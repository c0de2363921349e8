"""``vixio say`` and ``vixio transcribe``: the result alone on standard output."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from firmware_test_client.pcm import read_wav
from vixio.cli.commands import main
from vixio.cli.status import StatusLine


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VIXIO_CONFIG", raising=False)
    monkeypatch.setattr("vixio.telemetry.logging.setup.configure_logging", lambda *_: None)


@pytest.mark.slow
def test_what_is_said_is_heard() -> None:
    runner = CliRunner()
    said = runner.invoke(main, ["say", "-", "--out", "a.wav"], input="Turn on the lamp.")
    assert said.exit_code == 0, said.output
    assert said.stdout == ""
    assert "sentence 1 of 1" in said.stderr
    assert "real-time factor" in said.stderr.splitlines()[-1]
    heard = runner.invoke(main, ["transcribe", "a.wav"])
    assert heard.exit_code == 0
    assert heard.stdout == "turn on the lamp\n"
    assert heard.stderr.splitlines()[-1].startswith("a.wav: 0.9")
    assert "first words after" in heard.stderr


PLAYERS = {
    "aplay": ('cp "$2" played.wav; echo a warning of ALSA >&2', True),
    "ffplay": ('cp "$5" played.wav', True),
    "ffplay without a sound card": ("echo audio open failed >&2", False),
    "paplay without a server": ("exit 1", False),
    "none": ("", False),
}


@pytest.mark.slow
@pytest.mark.parametrize("player", PLAYERS)
def test_what_is_said_is_played_or_it_says_that_it_was_not(
    player: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, plays = PLAYERS[player]
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "cp", "echo"):
        (programs / name).symlink_to(f"/bin/{name}")
    if script:
        program = programs / player.split(maxsplit=1)[0]
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    done = CliRunner().invoke(main, ["say", "Turn on the lamp."])
    assert Path("played.wav").exists() == plays
    if plays:
        assert done.exit_code == 0, done.output
        assert done.stderr.splitlines()[-1].startswith("played: ")
        assert read_wav(Path("played.wav")).duration > 0.5
    else:
        assert done.exit_code == 2
        assert "no program here that can play: say it into a file, --out" in done.stderr


@pytest.mark.slow
def test_what_is_not_understood_is_told() -> None:
    runner = CliRunner()
    text = "What's the weather tomorrow?"
    assert runner.invoke(main, ["say", text, "--out", "a.wav"]).exit_code == 0
    heard = runner.invoke(main, ["transcribe", "a.wav", "--language", "en-GB"])
    assert (heard.exit_code, heard.stdout) == (0, "")
    assert re.search("not understood; perhaps: .+\n", heard.stderr)
    assert "a.wav: no words in it\n" in heard.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        pytest.param(
            ["transcribe", "none.wav"],
            "vixio: none.wav: No such file or directory",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            ["transcribe", "x.txt"],
            "vixio: x.txt: neither WAV nor MP3 nor Ogg Opus; convert it: ",
            marks=pytest.mark.slow,
        ),
        (["transcribe", "x.txt", "--language", "a b"], "expected a tag such as en or zh-CN"),
        (["transcribe", "x.txt", "--config", "no.yaml"], "vixio: no.yaml: no such file"),
        (["say", "…", "--out", "a.wav"], "vixio: there is nothing in the text that could be"),
        pytest.param(
            ["say", "hi", "--out", "no/a.wav"],
            "vixio: no/a.wav: No such file or directory",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_mistake_is_told(arguments: list[str], why: str) -> None:
    Path("x.txt").write_text("hello, this is a text")
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2
    assert why in done.stderr
    assert done.stdout == ""


def test_a_terminal_gets_one_line_that_changes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "20")
    with StatusLine() as status:
        status.show("one")
        status.show("a very long partial result")
        status.show("字" * 30)
        status.line("stays")
        status.show("two")
    clear = "\r\x1b[K"
    wide = "…" + "字" * 8
    assert capsys.readouterr().err == (
        f"{clear}one{clear}…ong partial result{clear}{wide}{clear}stays\n{clear}two{clear}"
    )
