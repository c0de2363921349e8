"""The client of OpenAI-compatible servers: whom it tells what, and how its requests end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from tests.support.speech_server import Fault, SpeechServer
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers import openai_answer
from vixio.providers.openai_agent.models import openai_model
from vixio.providers.openai_agent.settings import OpenAIAgentSettings
from vixio.providers.openai_client import OpenAIConnection, SharedClient

LIMIT = 30.0


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SpeechServer]:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)
    async with SpeechServer() as made:
        yield made
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def client_of(**options: object) -> SharedClient:
    client = SharedClient("openai", "tts", OpenAIConnection.model_validate(options), timeout=LIMIT)
    await client.start()
    return client


async def speak(client: SharedClient) -> bytes:
    async def work() -> bytes:
        body = {"input": "hello", "response_format": "pcm"}
        return await (await client.post_json("audio/speech", body)).read()

    return await client.run(work())


async def test_what_is_read_as_a_whole_is_bounded(
    server: SpeechServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = await client_of(base_url=server.base_url)
    size = len(await speak(client))
    monkeypatch.setattr(openai_answer, "MAX_BODY_BYTES", size)
    assert len(await speak(client)) == size
    monkeypatch.setattr(openai_answer, "MAX_BODY_BYTES", size - 1)
    with pytest.raises(ProviderError, match=f"more than {size - 1} bytes") as caught:
        await speak(client)
    assert not caught.value.retryable
    await client.close()


async def test_the_key_of_the_environment_stays_with_its_own_server(
    server: SpeechServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-account")
    monkeypatch.setenv("OPENAI_ORG_ID", "org")
    client = await client_of(base_url=server.base_url)
    assert await speak(client)
    await client.close()
    headers = server.requests[-1].headers
    assert headers["authorization"] == "Bearer none"
    assert "openai-organization" not in headers


async def test_the_environment_may_name_server_key_and_account(
    server: SpeechServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-account")
    monkeypatch.setenv("OPENAI_ORG_ID", "org")
    client = await client_of()
    assert await speak(client)
    await client.close()
    headers = server.requests[-1].headers
    assert headers["authorization"] == "Bearer sk-of-the-account"
    assert headers["openai-organization"] == "org"
    client = await client_of(api_key=SecretStr("sk-mine"))
    assert await speak(client)
    await client.close()
    assert server.requests[-1].headers["authorization"] == "Bearer sk-mine"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("api_key", "schl\u00fcssel"),
        ("api_key", "sk-abc\n"),
        ("base_url", "http://host:port/v1"),
        ("base_url", "http://[::1/v1"),
        ("base_url", "localhost:8000/v1"),
        ("base_url", "ftp://localhost/v1"),
        ("base_url", "http:///v1"),
    ],
)
async def test_an_impossible_option_is_named_in_one_line(option: str, value: str) -> None:
    with pytest.raises(ProviderUnavailable, match=f"{option}.*tts") as raised:
        await client_of(**{"base_url": "http://127.0.0.1/v1", option: value})
    assert "\n" not in str(raised.value)
    options = {"base_url": "http://a/v1", option: value}
    with pytest.raises(ProviderUnavailable, match=f"{option}.*agent"):
        openai_model("openai", OpenAIAgentSettings.model_validate(options))


@pytest.mark.parametrize(
    ("base", "asked"),
    [
        ("", "/audio/speech"),
        ("/", "/audio/speech"),
        ("?version=1&a=b", "/audio/speech?version=1&a=b"),
    ],
)
async def test_path_and_query_of_the_base_url_are_kept(
    server: SpeechServer, base: str, asked: str
) -> None:
    client = await client_of(base_url=server.base_url + base)
    assert await speak(client)
    await client.close()
    prefix = server.base_url.rpartition(":")[2].partition("/")[2]
    assert server.requests[-1].path == f"/{prefix}{asked}"


async def test_a_proxy_of_the_environment_is_used(
    server: SpeechServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "no_proxy", "NO_PROXY", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", server.base_url.removesuffix("/v1"))
    client = await client_of(base_url="http://speech.example/v1")
    assert await speak(client)
    await client.close()
    assert server.requests[-1].path == "http://speech.example/v1/audio/speech"
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    client = await client_of(base_url=server.base_url)
    assert await speak(client)
    await client.close()


async def test_a_large_body_arrives_whole(server: SpeechServer) -> None:
    client = await client_of(base_url=server.base_url)
    text = "word " * 300_000

    async def work() -> None:
        answer = await client.post_json("audio/speech", {"input": text, "response_format": "pcm"})
        answer.close()

    await client.run(work())
    await client.close()
    assert json.loads(server.requests[-1].body)["input"] == text


async def test_closing_fails_the_requests_and_leaves_their_tasks_alone(
    server: SpeechServer,
) -> None:
    faults = [Fault(stall="head"), Fault(stall="body")]
    server.fail(*faults)
    client = await client_of(base_url=server.base_url)

    async def ask() -> str:
        try:
            await speak(client)
        except ProviderError as error:
            await asyncio.sleep(0)  # it was called off, and its task was not
            return str(error)
        return "answered"

    asking = [asyncio.create_task(ask()) for _ in faults]
    async with asyncio.timeout(LIMIT):
        for fault in faults:
            await fault.reached.wait()
        await client.close()
        told = await asyncio.gather(*asking)
    assert all("closed" in each for each in told)
    with pytest.raises(ProviderError, match="closed"):
        await speak(client)


async def test_a_cancelled_request_is_cancelled_even_while_the_client_closes(
    server: SpeechServer,
) -> None:
    fault = Fault(stall="head")
    server.fail(fault)
    client = await client_of(base_url=server.base_url)
    asking = asyncio.create_task(speak(client))
    async with asyncio.timeout(LIMIT):
        await fault.reached.wait()
        closing = asyncio.create_task(client.close())
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await closing


async def test_fields_of_a_form_have_brackets(server: SpeechServer) -> None:
    client = await client_of(base_url=server.base_url)
    fields = {
        "model": "m",
        "stream": False,
        "words": ["a", "b"],
        "options": {"beam": 5, "tags": ["x"]},
    }
    file = ("speech.wav", _WAV, "audio/wav")

    async def work() -> bytes:
        return await (await client.post_form("audio/transcriptions", fields, file)).read()

    assert await client.run(work())
    await client.close()
    request = server.requests[-1]
    assert request.fields == {
        "model": ["m"],
        "stream": ["false"],
        "words[]": ["a", "b"],
        "options[beam]": ["5"],
        "options[tags][]": ["x"],
    }
    assert request.files["file"] == (file[0], file[2], file[1])


def _wav() -> bytes:
    from tests.support.sounds import wav

    return wav(bytes(3_200), 16_000)


_WAV = _wav()
