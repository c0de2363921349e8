"""The service's list of voices."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import edge_tts.voices
import pytest
from aiohttp import web

from tests.support.servers import free_port
from vixio.core.errors import ProviderError
from vixio.providers import registry
from vixio.providers.edge_tts.settings import EdgeTTSSettings

VOICES = [
    {"ShortName": "zh-CN-YunxiNeural", "Locale": "zh-CN", "Gender": "Male"},
    {"ShortName": "de-DE-KatjaNeural", "Locale": "de-DE"},
]


@pytest.fixture
async def answers(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[str]]:
    """The service's answers, one after another."""
    bodies: list[str] = []

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=bodies.pop(0))

    application = web.Application()
    application.router.add_get("/list", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    monkeypatch.setattr(edge_tts.voices, "VOICE_LIST", f"http://127.0.0.1:{port}/list?a=b")
    yield bodies
    await runner.cleanup()


async def listed() -> list[tuple[str, str, str]]:
    voices = registry.resolve("tts", "edge").voices
    assert voices is not None
    return [(each.name, each.language, each.about) for each in await voices(EdgeTTSSettings())]


async def test_the_voices_are_the_services(answers: list[str]) -> None:
    answers.append(json.dumps(VOICES))
    assert await listed() == [
        ("zh-CN-YunxiNeural", "zh-CN", "male"),
        ("de-DE-KatjaNeural", "de-DE", ""),
    ]


@pytest.mark.parametrize("body", ["no JSON", "[1]", '[{"Locale": "de"}]', "{}x"])
async def test_an_answer_of_another_form_is_a_line(answers: list[str], body: str) -> None:
    answers.append(body)
    with pytest.raises(ProviderError, match="the service's answer is not understood"):
        await listed()


async def test_no_network_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    address = f"http://127.0.0.1:{free_port()}/list?a=b"
    monkeypatch.setattr(edge_tts.voices, "VOICE_LIST", address)
    with pytest.raises(ProviderError, match="the service cannot be reached: ") as caught:
        await listed()
    assert "\n" not in str(caught.value)
