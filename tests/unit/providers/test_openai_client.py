"""The client of OpenAI-compatible servers: whom it tells what, and how its requests end."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr, ValidationError

from tests.support.speech_server import Fault, SpeechServer, refusal
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.providers import service_answer
from vixio.providers.openai_agent.models import openai_model
from vixio.providers.openai_agent.settings import OpenAIAgentSettings
from vixio.providers.openai_client import OpenAIConnection, SharedClient
from vixio.providers.openai_speech.tts import OpenAITTSSettings

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
    monkeypatch.setattr(service_answer, "MAX_BODY_BYTES", size)
    assert len(await speak(client)) == size
    monkeypatch.setattr(service_answer, "MAX_BODY_BYTES", size - 1)
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


@pytest.mark.parametrize("key", ["schl\u00fcssel", "sk-abc\n"])
async def test_an_impossible_key_is_named_in_one_line(key: str) -> None:
    with pytest.raises(ProviderUnavailable, match=r"api_key.*tts") as raised:
        await client_of(base_url="http://127.0.0.1/v1", api_key=key)
    assert "\n" not in str(raised.value)
    options = {"base_url": "http://a/v1", "api_key": key}
    with pytest.raises(ProviderUnavailable, match=r"api_key.*agent"):
        openai_model("openai", OpenAIAgentSettings.model_validate(options))


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("http://host:port/v1", "Port"),
        ("http://[::1/v1", "IPv6"),
        ("ftp://localhost/v1", "begins with http:// or https://"),
        ("http:///v1", "and a host"),
        ("“http://localhost/v1”", "begins with http:// or https://"),
        ("localhost:8000/v1", "write http://localhost:8000/v1"),
        ("127.0.0.1/v1", "write http://127.0.0.1/v1"),
        ("ollama/v1", "write http://ollama/v1"),
        ("api.deepseek.com/v1", "write https://api.deepseek.com/v1"),
        ("user:secret@host/v1", "begins with http:// or https://"),
        ("https://host/v1/chat/completions", "write https://host/v1"),
        ("https://host/v1/audio/speech/", "write https://host/v1"),
        ("https://host/v1/models?a=b", r"write https://host/v1\?a=b"),
        ("https://user:secret@host/v1/responses", "without /responses, which is added$"),
    ],
)
async def test_an_address_that_cannot_work_is_refused_with_what_to_write(
    url: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for settings in (OpenAIAgentSettings, OpenAITTSSettings):
        with pytest.raises(ValidationError) as refused:
            settings.model_validate({"base_url": url})
        (error,) = refused.value.errors(include_input=False)
        assert re.search(advice, error["msg"])
        assert "secret" not in error["msg"]
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(ProviderUnavailable, match=advice.removesuffix("$")):
        await client_of(api_key="k")


@pytest.mark.parametrize(
    "url", ["", "http://127.0.0.1:11434", "https://host/openai/deployments/x?api-version=1"]
)
def test_an_address_that_may_work_is_taken(url: str) -> None:
    assert OpenAIAgentSettings(base_url=url).base_url == url


async def test_whether_a_server_serves_us(server: SpeechServer) -> None:
    client = await client_of(base_url=server.base_url)
    assert not await client.verify(), "it has no list of models"
    listed = json.dumps({"object": "list", "data": []}).encode()
    for fault, serves in (
        (Fault(body=listed), True),
        (Fault(body=b"<html>a page for every path</html>"), False),
        (refusal(403, "not for this key"), False),
        (refusal(401, "Missing scopes: api.model.read", "missing_scope"), False),
        (refusal(500), False),
        (Fault(body=listed, cut="body"), False),
    ):
        server.models = fault
        assert await client.verify() is serves, fault
    server.models = refusal(401, "Incorrect API key provided: sk-12345678")
    with pytest.raises(ProviderUnavailable, match="refuses the api_key") as refused:
        await client.verify()
    assert refused.value.reason == "no_key"
    assert not server.requests, "nothing that costs money is asked"
    await client.close()


async def test_an_address_without_its_path_is_noticed(server: SpeechServer) -> None:
    server.models = Fault(body=b'{"data": []}')
    server.only_under_v1 = True
    root = server.base_url.removesuffix("/v1")
    for base in (root, f"{root}/"):
        client = await client_of(base_url=base)
        with pytest.raises(ProviderUnavailable, match=f"write base_url: {root}/v1$"):
            await client.verify()
        await client.close()


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
        body = {"input": "hi", "instructions": text, "response_format": "pcm"}
        answer = await client.post_json("audio/speech", body)
        answer.close()

    await client.run(work())
    await client.close()
    assert json.loads(server.requests[-1].body)["instructions"] == text


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
