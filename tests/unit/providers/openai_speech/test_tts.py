"""TTS over ``/audio/speech``, against a local server with the real protocol."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import numpy as np
import pytest

from tests.support.sounds import chirp
from tests.support.speech_server import CHAR_MS, Fault, SpeechServer, refusal
from vixio.core.audio import pcm_seconds
from vixio.core.errors import ProviderError, ProviderTimeout, ProviderUnavailable
from vixio.providers.openai_speech.tts import OpenAITTSProvider, OpenAITTSSettings

LIMIT = 20.0
TEXT = "The volume is now at thirty percent."
SECONDS = len(TEXT) * CHAR_MS / 1000

MakeTTS = Callable[..., Awaitable[OpenAITTSProvider]]


async def say(tts: OpenAITTSProvider, text: str = TEXT) -> bytes:
    async with asyncio.timeout(LIMIT):
        return b"".join([pcm async for pcm in tts.synthesize(text)])


async def test_the_request_is_what_the_api_takes(server: SpeechServer, make_tts: MakeTTS) -> None:
    tts = await make_tts(model="kokoro", voice="af_bella", api_key="secret-key")
    await say(tts)
    (request,) = server.requests
    assert request.path == "/v1/audio/speech"
    assert request.headers["authorization"] == "Bearer secret-key"
    assert json.loads(request.body) == {
        "model": "kokoro",
        "voice": "af_bella",
        "input": TEXT,
        "response_format": "pcm",
    }


async def test_only_what_is_set_is_sent(server: SpeechServer, make_tts: MakeTTS) -> None:
    tts = await make_tts(speed=1.5, instructions="Whisper.", extra_body={"sample_rate": 24000})
    await say(tts)
    sent = json.loads(server.requests[0].body)
    assert (sent["speed"], sent["instructions"]) == (1.5, "Whisper.")
    assert sent["sample_rate"] == 24000


@pytest.mark.parametrize("asked", ["pcm", "wav", "mp3", "opus"])
@pytest.mark.parametrize("sent", ["pcm", "wav", "mp3", "opus"])
async def test_whatever_format_arrives(
    server: SpeechServer, make_tts: MakeTTS, asked: str, sent: str
) -> None:
    server.sends = sent
    tts = await make_tts(response_format=asked)
    if sent == "pcm" and asked in ("wav", "opus", "mp3"):
        with pytest.raises(ProviderError) as caught:  # raw samples have no signature
            await say(tts)
        assert "\n" not in str(caught.value)
        return
    pcm = await say(tts)
    assert json.loads(server.requests[0].body)["response_format"] == asked
    assert pcm_seconds(pcm, tts.sample_rate) == pytest.approx(SECONDS, abs=0.2)
    samples = np.frombuffer(pcm, "<i2").astype(float)
    assert float(np.sqrt(np.mean(samples**2))) > 3_000


@pytest.mark.parametrize("made", [16_000, 44_100])
async def test_a_rate_that_the_server_states_is_believed(
    server: SpeechServer, make_tts: MakeTTS, made: int
) -> None:
    server.rate, server.media = made, f"audio/pcm; rate={made}; channels=1"
    tts = await make_tts(sample_rate=24_000)
    assert tts.sample_rate == 24_000
    assert pcm_seconds(await say(tts), 24_000) == pytest.approx(SECONDS, abs=0.05)


async def test_raw_samples_are_handed_on_untouched(server: SpeechServer, make_tts: MakeTTS) -> None:
    tts = await make_tts(sample_rate=24_000)
    assert await say(tts, "a" * 20) == chirp(24_000, 0.7).tobytes()


async def test_sound_comes_before_the_sentence_is_complete(
    server: SpeechServer, make_tts: MakeTTS
) -> None:
    rest = Fault(stall="middle")
    server.fail(rest)
    tts = await make_tts()
    async with asyncio.timeout(LIMIT), aclosing(tts.synthesize(TEXT)) as speech:  # type: ignore[type-var]  # a generator
        assert await anext(speech)
        assert not rest.go.is_set()
        rest.go.set()
        assert [pcm async for pcm in speech]


async def test_a_connection_serves_many_sentences(server: SpeechServer, make_tts: MakeTTS) -> None:
    tts = await make_tts()
    for _ in range(5):
        assert await say(tts)
    assert server.connections == 1


@pytest.mark.parametrize("stall", ["head", "body", "middle"])
async def test_closing_the_iterator_ends_the_request(
    server: SpeechServer, make_tts: MakeTTS, stall: str
) -> None:
    held = Fault(stall=stall)  # type: ignore[arg-type]  # one of the places
    server.fail(held)
    tts = await make_tts()
    speaking = asyncio.create_task(say(tts))
    async with asyncio.timeout(LIMIT):
        await held.reached.wait()
        speaking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await speaking
        await server.hung_up.wait()
        await server.idle()
    assert await say(tts)


@pytest.mark.parametrize("stall", ["head", "body", "middle"])
async def test_closing_the_provider_ends_what_is_spoken(
    server: SpeechServer, make_tts: MakeTTS, stall: str
) -> None:
    held = Fault(stall=stall)  # type: ignore[arg-type]  # one of the places
    server.fail(held)
    tts = await make_tts()
    speaking = asyncio.create_task(say(tts))
    async with asyncio.timeout(LIMIT):
        await held.reached.wait()
        await tts.close()
        with pytest.raises(ProviderError, match="closed"):
            await speaking
        await server.idle()


FAULTS = {
    "key": (refusal(401, "Incorrect API key provided: sk-abcdefgh"), "no_key", False),
    "model": (refusal(404, "no such model"), "no_model", False),
    "quota": (refusal(429, "pay", "insufficient_quota"), "quota", False),
    "busy": (refusal(429, "slow down", retry_after="7"), "busy", True),
    "broken": (refusal(500, "oops"), "service", True),
    "request": (refusal(400, "unknown voice"), "request", False),
    "text": (
        Fault(body=b'{"detail": "no such voice"}'),
        "service",
        True,
    ),
    "empty": (Fault(body=b"", media="audio/pcm"), "service", True),
    "cut-head": (Fault(cut="head"), "unreachable", True),
    "cut-body": (Fault(cut="body"), "service", True),
    "cut-middle": (Fault(cut="middle"), "service", True),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_errors_are_one_line(server: SpeechServer, make_tts: MakeTTS, name: str) -> None:
    fault, reason, retryable = FAULTS[name]
    server.fail(fault)
    tts = await make_tts()
    with pytest.raises(ProviderError) as caught:
        await say(tts)
    assert (caught.value.reason, caught.value.retryable) == (reason, retryable)
    assert "\n" not in str(caught.value)
    assert "sk-" not in str(caught.value)
    assert isinstance(caught.value, ProviderUnavailable) == (not retryable and reason != "request")
    assert caught.value.retry_after == (7 if name == "busy" else None)
    assert await say(tts)


@pytest.mark.parametrize("stall", ["head", "body", "middle"])
async def test_a_stall_is_given_up(server: SpeechServer, make_tts: MakeTTS, stall: str) -> None:
    fault = Fault(stall=stall)  # type: ignore[arg-type]  # one of the places

    async def attempt() -> None:
        with pytest.raises(ProviderTimeout):
            await say(await make_tts(timeout=0.3))

    await server.reach(fault, attempt)
    async with asyncio.timeout(LIMIT):
        await server.idle()
    assert await say(await make_tts())


async def test_temporary_errors_are_retried(server: SpeechServer, make_tts: MakeTTS) -> None:
    tts = await make_tts(retries=2)
    server.fail(Fault(cut="head"), refusal(503))
    assert await say(tts)
    assert len(server.requests) == 3
    server.fail(refusal(429, retry_after="0.01"))
    assert await say(tts)
    server.requests.clear()
    server.fail(refusal(401))
    with pytest.raises(ProviderError):
        await say(tts)
    assert len(server.requests) == 1
    server.requests.clear()
    server.fail(refusal(429, retry_after="60"))
    with pytest.raises(ProviderError) as caught:
        await say(tts)  # fails at once instead of waiting for a minute
    assert caught.value.retry_after == 60
    assert len(server.requests) == 1


async def test_a_long_text_is_several_requests(server: SpeechServer, make_tts: MakeTTS) -> None:
    tts = await make_tts(max_chars=60)
    text = "One sentence of several words. Another one, with a comma. " * 4
    pcm = await say(tts, text)
    inputs = [json.loads(request.body)["input"] for request in server.requests]
    assert all(len(each) <= 60 for each in inputs)
    assert " ".join(inputs).split() == text.split()
    assert pcm_seconds(pcm, tts.sample_rate) == pytest.approx(
        sum(map(len, inputs)) * CHAR_MS / 1000
    )


async def test_speech_without_an_end_is_ended(server: SpeechServer, make_tts: MakeTTS) -> None:
    server.endless = True
    tts = await make_tts()
    with pytest.raises(ProviderError, match="no end"):
        await say(tts, "Hello.")
    async with asyncio.timeout(LIMIT):
        await server.hung_up.wait()
        await server.idle()


async def test_what_has_no_sound_costs_no_request(server: SpeechServer, make_tts: MakeTTS) -> None:
    tts = await make_tts()
    assert await say(tts, "…!") == b""
    assert server.requests == []


async def test_without_a_key_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ProviderUnavailable, match=r"tts\.api_key, or OPENAI_API_KEY"):
        await OpenAITTSProvider().start()


async def test_a_server_that_is_not_there(stack: Any) -> None:  # noqa: ANN401 - an exit stack
    settings = OpenAITTSSettings(base_url="http://127.0.0.1:9/v1", retries=0)
    tts = OpenAITTSProvider(settings)
    stack.push_async_callback(tts.close)
    await tts.start()
    with pytest.raises(ProviderError) as caught:
        await say(tts)
    assert caught.value.reason == "unreachable"
