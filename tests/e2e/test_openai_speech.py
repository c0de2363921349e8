"""The preset in which everything is OpenAI-compatible: a spoken turn over real HTTP, both ways."""

from __future__ import annotations

import asyncio
import importlib
import io
import json
import wave
from pathlib import Path

import pytest

from firmware_test_client import DeviceState, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.harness import serving
from tests.support.llm_server import LLMServer, text
from tests.support.speech_server import Fault, SpeechServer, refusal
from tests.support.waiting import until
from vixio.settings import Settings, load_settings

PRESET = Path(__file__).resolve().parents[2] / "config" / "openai-speech.yaml"


@pytest.fixture(autouse=True, scope="module")
def imported() -> None:
    """Import them before: imports delay the loop, and an overloaded server refuses devices."""
    for name in ("agents", "openai.resources.audio", "openai.resources.chat"):
        importlib.import_module(name)


def _settings(models: LLMServer, speech: SpeechServer) -> Settings:
    loaded = load_settings(
        PRESET,
        {
            "OPENAI_API_KEY": "test-key",
            "OPENAI_BASE_URL": models.base_url,
            "ASR_BASE_URL": speech.base_url,
            "TTS_BASE_URL": speech.base_url,
        },
    )
    ports = {"host": "127.0.0.1", "port": 0, "http_port": 0}
    return loaded.model_copy(
        update={
            "server": loaded.server.model_copy(update=ports),
            "memory": loaded.memory.model_copy(update={"store": "none"}),
        }
    )


async def test_a_spoken_turn_goes_through_all_of_them() -> None:
    async with LLMServer() as models, SpeechServer() as speech:
        speech.always = "Is it raining?"
        models.script(text("No, ", "the sun shines. ", "Take a hat."))
        config = _settings(models, speech)
        async with serving(config) as server, SimulatedDevice(server.device()) as device:
            reply = await device.ask("is it raining")
            assert reply.stt == "Is it raining?"
            assert "sun shines" in reply.text
            assert_played_well(reply)
            assert_nothing_wrong(device)
    heard, *spoken = speech.requests
    assert heard.path == "/v1/audio/transcriptions"
    assert heard.fields["language"] == ["en"]
    assert "volume" in heard.fields["prompt"][0]  # the device's tools bias the recogniser
    with wave.open(io.BytesIO(heard.files["file"][2])) as sound:
        assert 0.5 < sound.getnframes() / sound.getframerate() < 6
    assert [json.loads(each.body)["input"] for each in spoken] == [
        "No, the sun shines.",
        "Take a hat.",
    ]
    assert {each.headers["authorization"] for each in speech.requests} == {"Bearer test-key"}
    assert [each["messages"][-1]["content"] for each in models.requests] == ["Is it raining?"]


async def test_interrupted_nothing_goes_on_speaking_and_a_refusal_is_told() -> None:
    async with LLMServer() as models, SpeechServer() as speech:
        speech.always = "Tell me a story."
        held = Fault(stall="middle")
        models.script(text("Once upon a time there was a king. ", "The end."), text("Yes?"))
        config = _settings(models, speech)
        manual = {"mode": "manual"}
        async with serving(config) as server, SimulatedDevice(server.device(**manual)) as device:
            speech.fail(Fault(), held)
            speaking = asyncio.create_task(device.press_to_talk("tell me a story"))
            await until(
                lambda: device.state is DeviceState.SPEAKING and held.reached.is_set(),
                what="the first words",
                seconds=60,
            )
            async with asyncio.timeout(60):
                await device.abort()
                await speaking
                await speech.hung_up.wait()
                await speech.idle()
            speech.fail(refusal(401, "bad key"))
            reply = await device.press_to_talk("and then")
            assert not reply.stt
            assert reply.text  # the user hears that it did not work
            assert server.count("asr.failed") == 1
            assert_nothing_wrong(device)
