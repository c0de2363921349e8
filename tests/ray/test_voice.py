"""The example's voice, asked by Vixio's own provider and by plain HTTP."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import numpy as np
import pytest

from tests.ray.service import MAX_CHARS, SpeechService
from tests.support.tiny_voices import RATE
from tests.support.waiting import until
from vixio.core.streams import closing
from vixio.providers.openai_speech.tts import OpenAITTSProvider, OpenAITTSSettings

SHORT, LONG = "Good morning.", "Good morning to you all, and a happy birthday to everyone here."


@asynccontextmanager
async def voice(service: SpeechService, **options: object) -> AsyncIterator[OpenAITTSProvider]:
    given = {"base_url": service.base_url, "model": "voice", "voice": "ann", "timeout": 240.0}
    tts = OpenAITTSProvider(OpenAITTSSettings.model_validate(given | options))
    await tts.start()
    try:
        yield tts
    finally:
        await tts.close()


async def spoken(tts: OpenAITTSProvider, text: str) -> np.ndarray[tuple[int], np.dtype[np.int16]]:
    async with closing(tts.synthesize(text)) as pieces:
        pcm = b"".join([piece async for piece in pieces])
    return np.frombuffer(pcm, np.int16)


@pytest.mark.parametrize("format_", ["pcm", "wav"])
async def test_vixio_plays_what_it_sends(service: SpeechService, format_: str) -> None:
    async with voice(service, response_format=format_) as tts:
        assert await tts.verify()
        short, long = await spoken(tts, SHORT), await spoken(tts, LONG)
    assert 0.5 < len(short) / tts.sample_rate < 3
    assert len(long) > 3 * len(short)
    loud = np.abs(long.astype(np.int32))
    assert loud.max() > 10_000
    # At the right rate: its lowest tone is at 186 Hz, that of the third symbol.
    spectrum = np.abs(np.fft.rfft(long / 32_768))
    assert 150 < np.argmax(spectrum) * tts.sample_rate / len(long) < 3_300


async def test_speed_and_speaker_are_taken(service: SpeechService) -> None:
    async with voice(service) as normal, voice(service, speed=2.0, voice="bob") as fast:
        slow_length = len(await spoken(normal, LONG))
        assert len(await spoken(fast, LONG)) == pytest.approx(slow_length / 2, rel=0.02)


async def test_speech_is_sent_as_it_is_made_and_ends_with_the_request(
    service: SpeechService,
) -> None:
    """The first audio comes while most of the text is unspoken: the rest is never made."""
    sentences = MAX_CHARS // 17
    text = "And another one. " * sentences
    body = {"model": "voice", "input": text, "response_format": "pcm"}
    async with (
        aiohttp.ClientSession() as client,
        client.post(f"{service.base_url}/audio/speech", json=body) as response,
    ):
        assert response.status == 200
        assert response.headers["Content-Type"] == f"audio/pcm; rate={RATE}"
        number = response.headers["X-Request-Id"]
        assert await response.content.readany()
    ended = re.compile(rf"{number} -- spoken; sentences: (\d+)")
    await until(lambda: ended.search(service.logs()), what="the end of the speech", seconds=120)
    (made,) = ended.findall(service.logs())
    assert 0 < int(made) < sentences / 2
