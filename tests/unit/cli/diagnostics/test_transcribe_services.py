"""A file is heard by services with their real protocols: what they tell early is shown early."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.funasr_server import Flavour, FunASRServer
from tests.support.speech_server import SpeechServer
from vixio.cli.diagnostics.audio_file import WavWriter
from vixio.cli.diagnostics.spoken import spoken
from vixio.cli.diagnostics.transcribe import Listener, transcribe
from vixio.cli.diagnostics.utterances import Utterance
from vixio.core.audio import LISTEN_RATE
from vixio.core.errors import ProviderError
from vixio.providers.asr import Recognition
from vixio.settings import Settings


@pytest.fixture
async def recording(tmp_path: Path) -> Path:
    path = tmp_path / "two.wav"
    first = await spoken("Please set the volume to thirty percent.")
    second = await spoken("And then turn on the lamp in the kitchen.")

    def write() -> None:
        with WavWriter(path, LISTEN_RATE) as file:
            file.write(first + second)

    await asyncio.to_thread(write)
    return path


async def hear(path: Path, **asr: object) -> tuple[list[str], list[str]]:
    """Return the partial results and the words, in the order in which they were told."""
    partials: list[str] = []
    words: list[str] = []

    def heard(utterance: Utterance, recognition: Recognition) -> None:
        words.append(recognition.text)

    listener = Listener(lambda _: None, partials.append, heard)
    settings = Settings.model_validate({"asr": asr})
    async with asyncio.timeout(30):
        timing = await transcribe(settings, path, language="en", listener=listener)
    assert timing.first is not None
    return partials, words


@pytest.mark.parametrize("flavour", [Flavour.CPP_2PASS, Flavour.PYTHON])
@pytest.mark.slow
async def test_a_funasr_server(recording: Path, flavour: Flavour) -> None:
    async with FunASRServer(flavour) as server:
        partials, words = await hear(recording, name="funasr-server", url=server.url)
    assert len(words) == 2
    assert all(each.startswith("loud") for each in words)
    assert set(partials) - set(words)  # what the first pass told is not what the second did


@pytest.mark.slow
async def test_an_openai_compatible_server_that_streams(recording: Path) -> None:
    async with SpeechServer() as server:
        server.always = "these are the words of it"
        partials, words = await hear(
            recording, name="openai", base_url=server.base_url, stream=True, api_key="k"
        )
    assert words == ["these are the words of it"] * 2
    assert all(words[0].startswith(partial) for partial in partials)
    assert partials


@pytest.mark.slow
async def test_a_service_that_is_not_there(recording: Path) -> None:
    async with SpeechServer() as server:
        gone = server.base_url
    with pytest.raises(ProviderError, match="cannot be reached"):
        await hear(recording, name="openai", base_url=gone, api_key="k", retries=0)
