"""``vixio voices``: which voices there are, and one of them on a file."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from tests.support.tiny_voices import make_kokoro, make_piper
from vixio.cli.commands import main
from vixio.cli.diagnostics.voices import chosen, greeting, offered, player, sections, speaks
from vixio.core.errors import ConfigError
from vixio.providers.espeak_process.messages import Voice
from vixio.providers.espeak_process.pool import EspeakPool
from vixio.settings import Settings


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["voices", *arguments])


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings file, and no player of audio, whatever this machine has."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VIXIO_CONFIG", raising=False)
    monkeypatch.setattr("vixio.cli.diagnostics.voices._PLAYERS", ())


def two_voices(tmp_path: Path) -> Path:
    piper = make_piper(tmp_path / "piper", "text")
    model, place = make_kokoro(tmp_path / "kokoro", "af_heart", "zf_xiaoxiao", "jf_alpha")
    file = tmp_path / "two.yaml"
    file.write_text(
        f"tts:\n- {{name: kokoro, model: {model}, voices_path: {place}, threads: 1}}\n"
        f"- {{name: piper, model: {piper}}}\n",
        encoding="utf-8",
    )
    return file


def test_the_voices_of_a_list_of_providers(tmp_path: Path) -> None:
    result = run("--config", str(two_voices(tmp_path)))
    assert result.exit_code == 0
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["af_heart", "en-US", "female"],
        ["zf_xiaoxiao", "zh-CN", "female"],
        ["ann", "a", "speaker", "of", "beep"],
        ["bob", "a", "speaker", "of", "beep"],
    ]
    assert result.stderr == "kokoro: 2 voices\npiper: 2 voices\n"


@pytest.mark.slow
def test_a_language_and_a_provider(tmp_path: Path) -> None:
    config = str(two_voices(tmp_path))
    result = run("--config", config, "--provider", "kokoro", "--language", "zh")
    assert result.stdout == "zf_xiaoxiao  zh-CN  female\n"
    chinese = run("--language", "zh").stdout.splitlines()
    assert {line.split()[0] for line in chinese} >= {"cmn", "yue"}
    assert not any(line.startswith("en") for line in chinese)


@pytest.mark.slow
async def test_every_listed_voice_of_espeak_can_be_set() -> None:
    [section] = sections(Settings())
    names = [each.choice.name for each in await offered(section)]
    assert len(names) > 100
    assert len(set(names)) == len(names)
    pool = EspeakPool(1)
    await pool.start()
    try:
        assert await pool.missing(Voice(name) for name in names) == []
    finally:
        await pool.close()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--hear", "cmn"), "cmn.wav: "),
        (("--hear", "EN-US", "--text", "Hello."), "en-us.wav: "),
        (("--hear", "en-gb-scotland", "--out", "other.wav"), "other.wav: "),
    ],
)
@pytest.mark.slow
def test_a_voice_is_heard(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    assert said in result.stderr
    with wave.open(str(tmp_path / said.removesuffix(": "))) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    assert np.abs(samples.astype(np.int32)).max() > 3_000


def test_another_voice_of_the_list_is_heard(tmp_path: Path) -> None:
    config = str(two_voices(tmp_path))
    result = run("--config", config, "--hear", "bob", "--text", "Hello.", "--out", "bob.wav")
    assert result.exit_code == 0, result.stderr
    assert "starting piper" in result.stderr


@pytest.mark.slow
def test_a_player_gets_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "play"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\ncp "$2" {tmp_path}/played.wav\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr("vixio.cli.diagnostics.voices._PLAYERS", (("play", "-q"),))
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    assert player() == [str(program), "-q"]
    result = run("--hear", "en-us", "--text", "Hello.")
    assert result.exit_code == 0, result.stderr
    assert tmp_path.joinpath("played.wav").stat().st_size > 10_000
    assert not tmp_path.joinpath("en-us.wav").exists()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--hear", "xx-none"), "there is no voice 'xx-none': `vixio voices` lists them."),
        (("--hear", "en-uss"), "Did you mean en-us"),
        (("--provider", "openai"), "tts.openai has no list of voices"),
        (("--provider", "sherpa-onnx"), "sherpa-onnx needs settings (folder)"),
        (("--provider", "no-such"), "there is no tts provider 'no-such'"),
        (("--text", "Hello."), "--text and --out go with --hear VOICE"),
    ],
)
@pytest.mark.slow
def test_a_mistake_is_a_line(arguments: tuple[str, ...], line: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert line in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.slow
def test_a_provider_that_is_broken_does_not_hide_the_others(tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text("tts: [{name: piper, model: gone.onnx}, {name: espeak}]", encoding="utf-8")
    result = run("--config", str(file), "--language", "de")
    assert result.exit_code == 0
    assert result.stdout.startswith("de ")
    assert "vixio: piper: there is no file gone.onnx: `vixio models` lists" in result.stderr


@pytest.mark.parametrize(
    ("voice", "wanted", "answer"),
    [
        ("zh-CN", "zh", True),
        ("cmn", "zh", True),
        ("zh-CN", "zh-cn", True),
        ("en-us", "zh", False),
        ("en-GB", "en-us", False),
        ("", "zh", False),
        ("eng", "en", False),
        ("en", "", True),
    ],
)
def test_the_language_of_a_voice(voice: str, wanted: str, answer: bool) -> None:
    assert speaks(voice, wanted) is answer


def test_greetings() -> None:
    assert greeting("cmn") == greeting("zh-CN") != greeting("en")
    assert greeting("tlh") == greeting("en-GB")


@pytest.mark.slow
async def test_a_choice_leaves_the_other_options_of_its_section(tmp_path: Path) -> None:
    settings = Settings.model_validate({"tts": {"name": "espeak", "rate": 120}})
    found = chosen(await offered(sections(settings)[0]), "en-us")
    options = found.settings(settings).tts.options.model_dump()
    assert (options["rate"], options["voice"]) == (120, "en-us")
    with pytest.raises(ConfigError):
        chosen([], "en-us")
