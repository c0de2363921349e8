"""``vixio say`` and ``vixio transcribe``: the result alone on standard output."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

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


@pytest.mark.slow
def test_what_is_not_understood_is_told() -> None:
    runner = CliRunner()
    text = "Many elephants were bathing yesterday."
    assert runner.invoke(main, ["say", text, "--out", "a.wav"]).exit_code == 0
    heard = runner.invoke(main, ["transcribe", "a.wav", "--language", "en-GB"])
    assert (heard.exit_code, heard.stdout) == (0, "")
    assert "not understood\n" in heard.stderr
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
        (["say", "hi"], "Missing option '--out'"),
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
