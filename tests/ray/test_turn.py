"""config/ray-serve.yaml: a device talks to a server whose recogniser and voice are elsewhere."""

from __future__ import annotations

import importlib

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.harness import serving
from tests.ray.service import ROOT, SpeechService
from tests.ray.tiny_recogniser import WORDS
from tests.support.llm_server import LLMServer, text
from tests.support.waiting import until
from vixio.settings import Settings, load_settings


def settings(service: SpeechService, models: LLMServer) -> Settings:
    loaded = load_settings(
        ROOT / "config" / "ray-serve.yaml",
        {"RAY_SERVE_URL": service.base_url, "LLM_URL": models.base_url, "LLM_MODEL": "m"},
    )
    ports = {"host": "127.0.0.1", "port": 0, "http_port": 0}
    return loaded.model_copy(
        update={
            "server": loaded.server.model_copy(update=ports),
            "memory": loaded.memory.model_copy(update={"store": "none"}),
        }
    )


def spoken(service: SpeechService) -> int:
    """Return how many texts the service's voice has spoken to their ends."""
    return service.logs().count("CALL speak OK")


@pytest.fixture(autouse=True, scope="module")
def imported() -> None:
    """Import it before: imports delay the loop, and an overloaded server refuses devices."""
    importlib.import_module("aiohttp")


async def test_a_spoken_turn_goes_through_the_service(service: SpeechService) -> None:
    answers = ("No, the sun shines. ", "Take a hat.")
    before = spoken(service)
    async with LLMServer() as models:
        models.script(text(*answers), text("Yes."))
        async with (
            serving(settings(service, models)) as server,
            SimulatedDevice(server.device()) as device,
        ):
            first = await device.ask("is it raining")
            second = await device.ask("turn on the lamp in the kitchen please")
            for reply in (first, second):
                assert_played_well(reply)
            assert_nothing_wrong(device)
    assert "sun shines" in first.text
    heard = [(reply.stt or "").split() for reply in (first, second)]
    for words in heard:
        assert len(words) > 3
        assert set(words) <= set(WORDS)
    assert heard[0] != heard[1]
    assert [each["messages"][-1]["content"] for each in models.requests] == [first.stt, second.stt]
    # Each sentence was one request, and the voice of the service spoke it, not eSpeak NG here.
    await until(lambda: spoken(service) == before + 3, what="three sentences", seconds=60)
