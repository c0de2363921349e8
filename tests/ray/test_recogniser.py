"""The example's recogniser, asked by Vixio's own provider and by plain HTTP."""

from __future__ import annotations

import asyncio
import copy
import io
import wave
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import aiohttp
import numpy as np
import soxr

from tests.ray.service import Config, SpeechService
from tests.ray.tiny_recogniser import WORDS
from tests.support.waiting import until
from vixio.providers.openai_speech.asr import OpenAIASRProvider, OpenAIASRSettings
from vixio.testing.contract.asr import OFF, ON, hear, utterances

SLOW_S = 240.0
"""Limit of what takes Ray some seconds on an idle machine."""


@asynccontextmanager
async def recogniser(service: SpeechService) -> AsyncIterator[OpenAIASRProvider]:
    settings = OpenAIASRSettings(
        base_url=service.base_url, model="recogniser", timeout=SLOW_S, connect_timeout=SLOW_S
    )
    asr = OpenAIASRProvider(settings)
    await asr.start()
    try:
        yield asr
    finally:
        await asr.close()


@contextmanager
def changed(service: SpeechService, **values: object) -> Iterator[None]:
    """Have Serve run the recogniser with these values, without a restart, until the block ends."""
    config: Config = copy.deepcopy(service.config)
    deployments = config["applications"][0]["deployments"]
    (its,) = (each for each in deployments if each["name"] == "Recogniser")
    for name, value in values.items():
        its[name] = {**its[name], **value} if isinstance(value, dict) else value
    service.deploy(config)
    try:
        yield
    finally:
        service.deploy(service.config)


def wav_file(samples: np.ndarray[Any, np.dtype[np.int16]], rate: int) -> bytes:
    """Return a WAV file; ``samples`` has a column for each channel."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(samples.shape[1])
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes(samples.tobytes())
    return file.getvalue()


async def transcribed(
    service: SpeechService, file: bytes, client: aiohttp.ClientSession
) -> tuple[str, int]:
    """Return the words, and the size of the batch."""
    form = aiohttp.FormData({"model": "recogniser", "language": "en", "temperature": "0"})
    form.add_field("file", file, filename="speech.wav", content_type="audio/wav")
    url = f"{service.base_url}/audio/transcriptions"
    async with client.post(url, data=form) as response:
        assert response.status == 200, await response.text()
        return (await response.json())["text"], int(response.headers["X-Batch-Size"])


async def test_vixio_finds_the_service_healthy(service: SpeechService) -> None:
    async with recogniser(service) as asr:
        assert await asr.verify()
        assert await asr._client.models() == ["recogniser", "voice"]


async def test_the_words_follow_from_the_audio(service: SpeechService) -> None:
    async with recogniser(service) as asr:
        spoken = utterances()
        on, again, off = [await hear(asr, spoken[words]) for words in (ON, ON, OFF)]
        quiet = await hear(asr, (np.arange(32_000) % 2 * 200 - 100).astype("<i2").tobytes())
    assert on.text == again.text != off.text
    assert set(f"{on.text} {off.text}".split()) <= set(WORDS)
    assert len(on.text.split()) > 3
    assert on.language == "en"
    assert len(quiet.text.split()) < len(on.text.split())


async def test_other_rates_and_channels_are_taken(service: SpeechService) -> None:
    pcm = np.frombuffer(utterances()[ON], "<i2")
    high = soxr.resample(pcm, 16_000, 44_100)
    async with aiohttp.ClientSession() as client:
        plain, _ = await transcribed(service, wav_file(pcm[:, None], 16_000), client)
        stereo = wav_file(np.stack([high, high], axis=1), 44_100)
        other, _ = await transcribed(service, stereo, client)
        short, _ = await transcribed(service, wav_file(pcm[:160, None], 16_000), client)
    assert len(other.split()) > 3
    assert set(other.split()) <= set(WORDS)
    assert len(short.split()) < len(plain.split())


async def test_those_that_come_together_are_decoded_together(service: SpeechService) -> None:
    """The first of a batch waits for the others: for ever here, so the batch has to become full."""
    spoken = [wav_file(np.frombuffer(pcm, "<i2")[:, None], 16_000) for pcm in utterances().values()]
    size = 4
    async with aiohttp.ClientSession() as client:
        alone = [await transcribed(service, file, client) for file in spoken]
        before = service.replicas("Recogniser")
        with changed(service, user_config={"max_batch_size": size, "batch_wait_s": SLOW_S * 2}):
            await until(service.ready, seconds=SLOW_S)
            asked = [transcribed(service, spoken[number % 2], client) for number in range(size)]
            async with asyncio.timeout(SLOW_S):
                together = await asyncio.gather(*asked)
            assert service.replicas("Recogniser") == before
    assert [words for words, _ in together] == [words for words, _ in alone] * 2
    assert {number for _, number in alone} == {1}
    assert {number for _, number in together} == {size}


async def test_more_requests_bring_more_replicas(service: SpeechService) -> None:
    """Utterances that wait for a batch that never becomes full are load without work."""
    file = wav_file(np.frombuffer(utterances()[ON], "<i2")[:, None], 16_000)
    held = {"max_batch_size": 32, "batch_wait_s": SLOW_S * 2}
    scaling = {"target_ongoing_requests": 2, "max_replicas": 2, "upscale_delay_s": 0}
    async with aiohttp.ClientSession() as client:
        with changed(service, user_config=held, autoscaling_config=scaling):
            await until(service.ready, seconds=SLOW_S)
            waiting = [asyncio.create_task(transcribed(service, file, client)) for _ in range(6)]
            try:
                await until(
                    lambda: len(service.replicas("Recogniser")) == 2,
                    what="a second replica",
                    seconds=SLOW_S,
                )
                assert not any(task.done() for task in waiting)
            finally:
                for task in waiting:
                    task.cancel()
                await asyncio.gather(*waiting, return_exceptions=True)
        await until(service.ready, seconds=SLOW_S)


async def test_too_many_requests_are_refused_at_once(service: SpeechService) -> None:
    """One is in the replica, one waits for it; the others are not kept waiting."""
    file = wav_file(np.frombuffer(utterances()[ON], "<i2")[:, None], 16_000)
    held = {"max_batch_size": 2, "batch_wait_s": SLOW_S * 2}
    values = {"max_ongoing_requests": 1, "max_queued_requests": 1}
    url = f"{service.base_url}/audio/transcriptions"
    refused: list[tuple[str, Any]] = []

    async def ask(client: aiohttp.ClientSession) -> None:
        form = aiohttp.FormData({"model": "recogniser"})
        form.add_field("file", file, filename="speech.wav", content_type="audio/wav")
        async with client.post(url, data=form) as response:
            assert response.status == 503
            refused.append((response.headers["Retry-After"], await response.json()))

    async with aiohttp.ClientSession() as client:
        scaling = {"max_replicas": 1}
        with changed(service, user_config=held, autoscaling_config=scaling, **values):
            await until(service.ready, seconds=SLOW_S)
            asking = [asyncio.create_task(ask(client)) for _ in range(5)]
            try:
                await until(lambda: len(refused) == 3, what="refusals", seconds=SLOW_S)
            finally:
                for task in asking:
                    task.cancel()
                await asyncio.gather(*asking, return_exceptions=True)
        await until(service.ready, seconds=SLOW_S)
    for pause, body in refused:
        assert pause == "1"
        assert (body["error"]["type"], body["error"]["code"]) == ("server_error", "overloaded")
