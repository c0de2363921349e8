"""FunASR's behaviour: it loads a folder, and decodes several utterances in one call."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from tests.models.needs import needs
from tests.models.tiny_paraformer import TOKENS

pytestmark = needs("funasr", "funasr", "torch", "kaldi_native_fbank")


def samples(pcm: bytes) -> npt.NDArray[np.float32]:
    return np.frombuffer(pcm, dtype="<i2").astype(np.float32) / np.float32(32768)


def test_a_paraformer_loads_from_a_folder_and_decodes(
    paraformer: Path, speech: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    from funasr import AutoModel

    model = AutoModel(model=str(paraformer), device="cpu", disable_update=True, disable_pbar=True)
    assert "miss key" not in capsys.readouterr().out  # every weight came from the file
    half = speech[: len(speech) // 4 * 2]
    alone = [model.generate(samples(pcm))[0]["text"] for pcm in (speech, half)]
    assert alone[0] != alone[1]
    for text in alone:
        assert text
        assert set(text.replace(" ", "")) <= set("".join(TOKENS))
    together = model.generate([samples(speech), samples(half)], batch_size=2)
    assert [len(each["text"]) > 0 for each in together] == [True, True]
