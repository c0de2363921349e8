"""Tiny models, created once per run, and speech for them."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from tests.models.tiny_paraformer import make_paraformer
from tests.models.tiny_sensevoice import make_sensevoice
from vixio.testing.contract.asr import OFF, ON, utterances
from vixio.testing.voices import Speaker, Voices


@pytest.fixture(scope="session")
def vendor() -> None:
    """Import FunASR and torch, without the warnings of their import."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import funasr
        import torch

    assert funasr.__version__
    assert torch.__version__


@pytest.fixture(scope="session")
def paraformer(vendor: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an offline Paraformer."""
    return make_paraformer(tmp_path_factory.mktemp("models") / "paraformer")


@pytest.fixture(scope="session")
def streaming(vendor: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a streaming Paraformer."""
    return make_paraformer(tmp_path_factory.mktemp("models") / "streaming", streaming=True)


@pytest.fixture(scope="session")
def seaco(vendor: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a Paraformer that takes hotwords."""
    return make_paraformer(tmp_path_factory.mktemp("models") / "seaco", hotwords=True)


@pytest.fixture(scope="session")
def sensevoice(vendor: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a SenseVoice that was trained on the two utterances of the contract."""
    said = utterances()
    return make_sensevoice(
        tmp_path_factory.mktemp("models") / "sensevoice",
        {
            f"<|en|><|HAPPY|><|Speech|><|withitn|>{ON}": said[ON],
            f"<|en|><|ANGRY|><|BGM|><|withitn|>{OFF}": said[OFF],
        },
    )


@pytest.fixture(scope="session")
def speech() -> bytes:
    """Three seconds of 16 kHz PCM, the same in every run."""
    speaker = Speaker("en-us", rate=160, pitch=50)
    return b"".join(
        Voices(repeatable=True).say("Please turn on the lamp, and then the fan.", speaker, seed=1)
    )
