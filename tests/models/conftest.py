"""The tiny models, made once a run, and speech for them."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from tests.contract.speech import spoken
from tests.models.tiny_paraformer import make_paraformer


@pytest.fixture(scope="session")
def vendor() -> None:
    """FunASR and torch, imported; what they warn of on import is not ours to mend."""
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


@pytest.fixture
async def speech() -> bytes:
    """Three seconds of 16 kHz PCM."""
    return await spoken("Please turn on the lamp.")
