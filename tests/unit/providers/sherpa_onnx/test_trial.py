"""The messages of a trial in a process of its own, without the library."""

from __future__ import annotations

from pathlib import Path

import pytest

from vixio.core.errors import ProviderUnavailable
from vixio.providers.sherpa_onnx import trial
from vixio.providers.sherpa_onnx.asr import SherpaASRProvider
from vixio.providers.sherpa_onnx.asr_settings import SherpaASRSettings


@pytest.mark.slow
async def test_the_trial_says_what_the_load_says(tmp_path: Path) -> None:
    asr = SherpaASRProvider(SherpaASRSettings(folder=tmp_path))
    with pytest.raises(ProviderUnavailable, match=r"has no model .*; it holds: nothing") as caught:
        await asr.start()
    assert str(caught.value).count("sherpa-onnx: ") == 1
    await asr.close()


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (b"", "cannot use m: the library ended without a word"),
        (b"/a/csrc/x-model.cc:Init:99 'T' is not there\nhint\n", "cannot use m: 'T' is not there"),
        (b"noise\nsherpa-onnx: /m has no decoder\n", "/m has no decoder"),
        (b"ab" * 900, f"cannot use m: {'ab' * 75} … {'ab' * 75}"),
    ],
)
def test_the_librarys_words_are_one_line(said: bytes, message: str) -> None:
    assert trial._reason(said, Path("m")) == message
