"""Encoding and decoding of the frames of FunASR's protocol."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vixio.core.errors import ProviderError
from vixio.providers.funasr_server.messages import END, Result, hotword_text, read, start
from vixio.providers.funasr_server.settings import FunASRServerSettings


def test_an_utterance_is_opened_as_the_protocol_says() -> None:
    settings = FunASRServerSettings(language="zh", itn=False, chunk_size=[8, 8, 4])
    assert json.loads(start(settings, "w1", '{"阿里巴巴": 20}')) == {
        "mode": "2pass",
        "wav_name": "w1",
        "wav_format": "pcm",
        "audio_fs": 16000,
        "is_speaking": True,
        "chunk_size": [8, 8, 4],
        "chunk_interval": 10,
        "hotwords": '{"阿里巴巴": 20}',
        "itn": False,
        "svs_lang": "zh",
        "svs_itn": False,
    }
    assert json.loads(END)["is_speaking"] is False


def test_hotwords_are_a_string_in_either_form() -> None:
    words = {"阿里巴巴": 20, "通义实验室": 30}
    assert json.loads(hotword_text(words, "json")) == words
    assert hotword_text(words, "words") == "阿里巴巴 通义实验室"
    assert hotword_text({}, "json") == ""


@pytest.mark.parametrize(
    ("frame", "result"),
    [
        (
            '{"mode": "2pass-online", "text": "你", "wav_name": "w", "is_final": false}',
            Result("你", "2pass-online", "w"),
        ),
        ('{"text": "", "wav_name": "w", "is_final": true}', Result("", "", "w", is_final=True)),
        (
            '{"mode": "2pass", "wav_name": "w", "is_end": true, "error": "a\\nb"}',
            Result("", "2pass", "w", ended=True, error="a b"),
        ),
        (
            '{"text": "ERROR. Real-time transcription service ONLY SUPPORT PCM stream."}',
            Result(error="ERROR. Real-time transcription service ONLY SUPPORT PCM stream."),
        ),
        ('{"text": null, "timestamp": [[1, 2]]}', Result()),
        (b'{"text": "bytes"}', Result("bytes")),
    ],
)
def test_read(frame: str | bytes, result: Result) -> None:
    assert read(frame) == result


@pytest.mark.parametrize(
    "frame", ["", "{", "[]", "3", "null", '{"text": 3}', '{"mode": {}}', b"\xff\xfe", "[" * 100_000]
)
def test_what_no_server_of_this_kind_sends(frame: str | bytes) -> None:
    with pytest.raises(ProviderError, match="FunASR server"):
        read(frame)


@given(st.one_of(st.binary(), st.text()))
def test_nothing_else_is_raised(frame: str | bytes) -> None:
    try:
        read(frame)
    except ProviderError:
        pass
