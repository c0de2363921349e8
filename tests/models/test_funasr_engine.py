"""Calls of the model: hotwords where it takes them, and one result per utterance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.models.needs import needs
from tests.models.tiny_paraformer import TOKENS
from vixio.providers.funasr.engine import Engine, join
from vixio.providers.funasr.settings import FunASRSettings

pytestmark = needs("funasr", "funasr", "torch", "kaldi_native_fbank")


def engine(folder: Path) -> Engine:
    return Engine(FunASRSettings(model=str(folder), threads=1).worker())


def test_hotwords_reach_a_model_that_takes_them(seaco: Path, speech: bytes) -> None:
    made = engine(seaco)
    assert (made.model_class, made.takes_hotwords, made.streaming) == (
        "SeacoParaformer",
        True,
        False,
    )
    made.warm_up()
    (without,) = made.recognize([speech], "auto", "")
    model: Any = made._auto.model
    before = model.hotword_list
    assert before is None
    heard = made.recognize([speech, speech], "auto", "打开灯 音量")
    assert len(heard) == 2
    assert without
    assert all(heard)
    sent = [[TOKENS[number] for number in word] for word in model.hotword_list]
    assert sent == [["打", "开", "灯"], ["音", "量"], ["<s>"]]


def test_hotwords_do_not_reach_one_that_takes_none(paraformer: Path, speech: bytes) -> None:
    made = engine(paraformer)
    assert not made.takes_hotwords
    assert made.recognize([speech], "auto", "打开灯") == made.recognize([speech], "auto", "")


def test_a_batch_in_which_no_word_is_found_is_as_many_empty_answers(
    paraformer: Path, speech: bytes
) -> None:
    made = engine(paraformer)
    made._auto.model.predictor.cif_output.bias.data.fill_(-100.0)  # it recognises no word
    assert made.recognize([speech, speech, speech], "auto", "") == ["", "", ""]


@pytest.mark.parametrize(
    ("text", "more", "joined"),
    [
        ("你好", "世界", "你好世界"),
        ("turn on", "the lamp", "turn on the lamp"),
        ("打开", "lamp", "打开lamp"),
        ("", "好", "好"),
        ("好", "", "好"),
    ],
)
def test_words_of_two_chunks_are_joined_as_they_are_written(
    text: str, more: str, joined: str
) -> None:
    assert join(text, more) == joined
