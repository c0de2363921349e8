"""Bad requests get an error as OpenAI words it, of one line, and leave no traceback behind."""

from __future__ import annotations

import asyncio
import io
import os
import signal
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import numpy as np
import pytest

from tests.ray.service import DASHBOARD, MAX_CHARS, SpeechService
from tests.ray.test_recogniser import SLOW_S, recogniser, transcribed, wav_file
from tests.support.waiting import until
from vixio.core.errors import ProviderError
from vixio.testing.contract.asr import ON, hear, utterances

SECOND = np.full((16_000, 1), 1_000, np.int16)
WAV = wav_file(SECOND, 16_000)
SPEECH, WORDS = "audio/speech", "audio/transcriptions"


@dataclass(frozen=True)
class Bad:
    """A request, and its answer: the status, a part of the message, the parameter."""

    name: str
    status: int
    message: str
    param: str | None = None
    path: str = WORDS
    file: bytes | None = None
    model: str = "recogniser"
    body: dict[str, Any] | bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    method: str = "POST"


def speech(**changes: object) -> dict[str, Any]:
    return {"model": "voice", "input": "Hello.", "response_format": "pcm"} | changes


BAD = [
    Bad("no-file", 400, "there is no file", "file"),
    Bad("no-form", 400, "multipart/form-data", body={"model": "recogniser"}),
    Bad("empty-file", 400, "is empty", "file", file=b""),
    Bad("no-wav", 400, "no WAV file", "file", file=b"ID3\x04 this would be an MP3"),
    Bad("cut-head", 400, "no WAV file", "file", file=WAV[:20]),
    Bad("no-audio", 400, "no audio", "file", file=WAV[:44]),
    Bad("8-bit", 400, "16-bit", "file", file=WAV[:32] + b"\x01\x00\x08\x00" + WAV[36:]),
    Bad("long-audio", 400, "60 s", "file", file=wav_file(np.tile(SECOND, (61, 1)), 16_000)),
    Bad("long-file", 413, "25 MiB", file=bytes(26 * 2**20)),
    Bad("wrong-model", 404, "no model", "model", file=WAV, model="whisper-1"),
    Bad("no-path", 404, "Not Found", path="audio/translations", file=WAV),
    Bad("wrong-method", 405, "Method Not Allowed", path=WORDS, method="GET"),
    Bad("no-json", 400, "JSON", path=SPEECH, body=b"{"),
    Bad("no-object", 400, "", path=SPEECH, body=b"[]"),
    Bad("no-input", 400, "input", "input", SPEECH, body={"model": "voice"}),
    Bad("no-text", 400, "no letter", "input", SPEECH, body=speech(input=" …! ")),
    Bad("wrong-text", 400, "string", "input", SPEECH, body=speech(input=["a"])),
    Bad("no-sound", 400, "no sound", "input", SPEECH, body=speech(input="\U0001d7d8")),
    Bad("long-text", 400, "characters", "input", SPEECH, body=speech(input="a" * (MAX_CHARS + 1))),
    Bad("mp3", 400, "pcm or wav", "response_format", SPEECH, body=speech(response_format="mp3")),
    Bad("fast", 400, "speed", "speed", SPEECH, body=speech(speed=9)),
    Bad("no-voice", 404, "no model", "model", SPEECH, body=speech(model="tts-1")),
]


async def answer(
    service: SpeechService, bad: Bad, client: aiohttp.ClientSession
) -> tuple[int, Any]:
    if bad.body is None:
        form = aiohttp.FormData({"model": bad.model}, default_to_multipart=True)
        if bad.file is not None:
            form.add_field(
                "file", io.BytesIO(bad.file), filename="speech.wav", content_type="audio/wav"
            )
        given: dict[str, Any] = {"data": form}
    elif isinstance(bad.body, bytes):
        given = {"data": bad.body, "headers": {"Content-Type": "application/json"}}
    else:
        given = {"json": bad.body}
    async with client.request(bad.method, f"{service.base_url}/{bad.path}", **given) as response:
        return response.status, await response.json()


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
async def test_a_bad_request_is_refused_in_one_line(service: SpeechService, bad: Bad) -> None:
    async with aiohttp.ClientSession() as client:
        status, body = await answer(service, bad, client)
    error = body["error"]
    assert (status, error["param"]) == (bad.status, bad.param)
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert bad.message in error["message"]
    assert "\n" not in error["message"]
    assert len(error["message"]) < 300
    assert "Traceback" not in service.logs()


async def test_nobody_without_the_token_can_change_what_runs(service: SpeechService) -> None:
    """Programs can be run through this port, so the example is started with a token."""
    url = f"http://127.0.0.1:{DASHBOARD}/api/serve/applications/"
    async with aiohttp.ClientSession() as client:
        for ask in (client.get, client.delete):
            async with ask(url) as response:
                assert response.status == 401
    assert service.ready()


async def test_a_model_whose_process_dies_is_started_again(service: SpeechService) -> None:
    """Requests fail with what Vixio retries, until another process has the model."""
    deployment = service.application()["deployments"]["Recogniser"]
    for replica in deployment["replicas"]:
        os.kill(replica["pid"], signal.SIGKILL)
    file = wav_file(np.frombuffer(utterances()[ON], "<i2")[:, None], 16_000)
    failures: list[ProviderError] = []

    heard = ""
    async with recogniser(service) as asr, asyncio.timeout(SLOW_S):
        while not heard:
            try:
                heard = (await hear(asr, utterances()[ON])).text
            except ProviderError as error:
                failures.append(error)
    assert all(error.retryable for error in failures), failures
    async with aiohttp.ClientSession() as client:
        assert (await transcribed(service, file, client))[0]
    await until(service.ready, seconds=SLOW_S)
