"""The preset with a FunASR server and Edge TTS: spoken turns over their real protocols."""

from __future__ import annotations

import asyncio
import importlib
import json
from pathlib import Path

import pytest

from firmware_test_client import DeviceState, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong, assert_played_well
from tests.e2e.doubles import WaveformASR, recordings
from tests.e2e.harness import serving
from tests.support.certificates import self_made
from tests.support.edge_server import Fault, edge_server
from tests.support.funasr_faults import at, cut
from tests.support.funasr_server import Flavour, FunASRServer
from tests.support.llm_server import LLMServer, text
from tests.support.waiting import until
from vixio.settings import Settings, load_settings

PRESET = Path(__file__).resolve().parents[2] / "config" / "funasr-server.yaml"
SAID = "is it sunny today"


@pytest.fixture(autouse=True, scope="module")
def imported() -> None:
    """Import them before: imports delay the loop, and an overloaded server refuses devices."""
    for name in ("agents", "openai.resources.chat", "edge_tts"):
        importlib.import_module(name)


def _settings(models: LLMServer, asr: FunASRServer) -> Settings:
    environment = {
        "OPENAI_API_KEY": "test-key",
        "OPENAI_BASE_URL": models.base_url,
        "FUNASR_URL": asr.url,
    }
    loaded = load_settings(PRESET, environment)
    ports = {"host": "127.0.0.1", "port": 0, "http_port": 0}
    return loaded.model_copy(
        update={
            "server": loaded.server.model_copy(update=ports),
            "memory": loaded.memory.model_copy(update={"store": "none"}),
            # On a busy machine a pause is over before its words are there, which costs a
            # connection, and any answer may take so long that a filler is said.
            "listening": loaded.listening.model_copy(update={"think_ms": 0}),
            "assistant": loaded.assistant.model_copy(update={"filler_after": 0}),
        }
    )


async def test_spoken_turns_go_through_all_of_them(tmp_path: Path) -> None:
    recogniser = WaveformASR(await recordings([SAID]))

    def heard(pcm: bytes) -> str:
        """The server's recogniser: the words if it gets what the device said, else none."""
        label = recogniser.identify(pcm).label if len(pcm) > 32_000 else ""
        return f"<|en|><|HAPPY|><|Speech|><|withitn|>{label}?" if label else ""

    tls, _ = self_made(tmp_path)
    # The connection is cut in the first utterance, which is then said again over another one.
    asr = FunASRServer(Flavour.CPP_2PASS, transcribe=heard, tls=tls, fault=at("audio", cut))
    async with LLMServer() as models, asr, edge_server() as voices:
        models.script(text("It is sunny. ", "Take a hat."), text("Still sunny."))
        config = _settings(models, asr)
        async with serving(config) as server, SimulatedDevice(server.device()) as device:
            for said in ("It is sunny. Take a hat.", "Still sunny."):
                reply = await device.ask(SAID)
                assert reply.stt == f"{SAID}?"
                assert " ".join(reply.text.split()) == said
                assert_played_well(reply)
            assert server.count("asr.failed") == 0
            assert_nothing_wrong(device)
        assert [each.text for each in voices.spoken] == [
            "It is sunny.",
            "Take a hat.",
            "Still sunny.",
        ]
        assert all("XiaoxiaoNeural" in each.voice for each in voices.spoken)
        assert voices.open_connections == 0
    # The trial at the start, the one that was cut, and the one that both turns went over.
    assert (asr.connections, asr.open_connections) == (3, 0)
    words = json.loads(asr.utterances[-1].start["hotwords"])
    assert words["小智"] == 20
    assert words["volume"] == 10  # a tool of the device


async def test_interrupted_and_without_a_voice() -> None:
    async with LLMServer() as models, FunASRServer(Flavour.PYTHON) as asr, edge_server() as voices:
        models.script(text("Once upon a time there was a king. ", "The end."), text("Well."))
        config = _settings(models, asr)
        manual = {"mode": "manual"}
        async with serving(config) as server, SimulatedDevice(server.device(**manual)) as device:
            voices.faults.append(Fault(stall="middle"))
            speaking = asyncio.create_task(device.press_to_talk("tell me a story"))
            await until(
                lambda: device.state is DeviceState.SPEAKING and voices.held.is_set(),
                what="the first words",
                seconds=60,
            )
            async with asyncio.timeout(60):
                await device.abort()
                await speaking
                await voices.gone.wait()
            # The voice behind Edge in the list speaks where the service refuses.
            voices.faults.append(Fault(status=503))
            reply = await device.press_to_talk("and then")
            assert (reply.stt or "").startswith("loud")
            assert reply.text == "Well."
            assert_played_well(reply)
            assert_nothing_wrong(device)
