"""The benchmark's short form: twenty devices in conversation, every turn answered, none crossed."""

from __future__ import annotations

import asyncio
import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from firmware_test_client import DeviceConfig, SimulatedDevice
from vixio_bench.load.command import main
from vixio_bench.load.control import Hub
from vixio_bench.load.processes import start_server, start_services
from vixio_bench.load.server import ServerPlan
from vixio_bench.load.services.choice import EDGE, sections

DEVICES = 20

needs_edge = pytest.mark.skipif(
    not (find_spec("edge_tts") and find_spec("miniaudio")), reason="needs the extra edge"
)


@pytest.mark.load
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_twenty_devices_are_all_answered(tmp_path: Path) -> None:
    figures = tmp_path / "load.json"
    devices = ["--devices", str(DEVICES), "--generators", "1", "--turns", str(DEVICES)]
    arguments = ["--mix", "solo", *devices, "--hold", "4", "--json", str(figures)]
    assert main(arguments) == 0
    (step,) = json.loads(figures.read_text(encoding="utf-8"))["steps"]
    counts = step["counts"]
    assert step["turns"] >= DEVICES
    assert step["connected"] == DEVICES
    assert step["trouble"] == []
    for mistake in ("lost", "crossed", "unheard", "not_listening", "violations"):
        assert counts.get(mistake, 0) == 0, mistake
    # Times are for the benchmark on a quiet machine: here other tests run beside it.
    assert step["share"]["count"] >= DEVICES
    assert counts.get("dropped", 0) == 0


@pytest.mark.load
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_devices_are_answered_by_both_carriers_and_stand_idle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it costs is measured on a quiet machine: here it is that all of it is measured."""
    figures = tmp_path / "load.json"
    devices = ["--devices", "6", "--generators", "1", "--hold", "4", "--turns", "6"]
    arguments = ["--mix", "solo", "--carrier", "both", *devices, "--json", str(figures)]
    assert main(arguments) == 0
    steps = json.loads(figures.read_text(encoding="utf-8"))["steps"]
    assert [step["carrier"] for step in steps] == ["websocket", "mqtt"]
    for step in steps:
        assert step["turns"] >= 6
        assert step["trouble"] == []
        assert {"lost", "crossed", "unheard", "dropped"}.isdisjoint(step["counts"])
    first, second = (step["server_counters"] for step in steps)
    assert "xiaozhi.conversations" not in first
    assert "udp.lost" not in second
    idle = ["--mix", "idle", "--carrier", "mqtt", "--devices", "20", "--hold", "2"]
    assert main([*idle, "--generators", "1", "--json", str(figures)]) == 0
    (step,) = json.loads(figures.read_text(encoding="utf-8"))["steps"]
    assert step["connected"] == 20
    said = capsys.readouterr().out
    assert "solo, 6 devices, MQTT against WebSocket: CPU of a device x" in said
    assert "idle, 20 devices, mqtt: " in said


@pytest.mark.load
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_first_question_after_a_start_is_answered(tmp_path: Path) -> None:
    """The device asks as soon as it is greeted, long before the default set is loaded."""
    figures = tmp_path / "start.json"
    assert main(["--mix", "start", "--generators", "1", "--json", str(figures)]) == 0
    (step,) = json.loads(figures.read_text(encoding="utf-8"))["steps"]
    assert step["trouble"] == []  # no notice that it is still loading came before the answer
    assert step["seconds"]["first_answer"] > 0


@pytest.mark.load
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_real_providers_answer_over_http(tmp_path: Path) -> None:
    figures = tmp_path / "load.json"
    devices = ["--devices", "4", "--generators", "1", "--turns", "8", "--providers", "http"]
    assert main(["--mix", "converse", *devices, "--hold", "4", "--json", str(figures)]) == 0
    (step,) = json.loads(figures.read_text(encoding="utf-8"))["steps"]
    assert step["turns"] >= 8
    assert step["trouble"] == []
    assert {"lost", "crossed", "unheard"}.isdisjoint(step["counts"])
    assert step["answered"]["count"] > step["turns"]  # words, answer and voice of each
    # A sample comes every 4 ms of work: a part that takes 1 ms of a turn may have none in 8 turns.
    assert "listening" in step["work"]
    assert {"ASR", "agent", "TTS"} & set(step["work"])
    assert 0 < step["listening_cpu"] < 1


@pytest.mark.load
@pytest.mark.slow
@needs_edge
async def test_the_server_speaks_with_the_voice_of_the_stand_in() -> None:
    """Its address is not among the settings: without it the server would call Microsoft's."""
    providers = "http,funasr-server,edge"
    async with Hub() as hub:
        services = await start_services(hub, providers, "", ())
        try:
            said = services.peer.said
            plan = ServerPlan(
                hub.line("server"), services=sections(providers, said), edge=said[EDGE]
            )
            server = await start_server(hub, plan)
            try:
                await services.peer.ask("begin")
                url = f"ws://127.0.0.1:{server.peer.said['port']}/xiaozhi/v1/"
                async with SimulatedDevice(DeviceConfig(ws_url=url)) as device:
                    question = {"type": "listen", "state": "detect", "text": "device 7"}
                    await device.send_json(question)
                    await device.wait_for_frame("audio")
                    assert device.replies[0].text == "Device 7 in turn 1 for 3000 ms."
                async with asyncio.timeout(60):
                    while (await services.peer.ask("figures"))["answered_ms"]["count"] < 2:
                        pass  # the agent's answer and the voice's, which ends after its first sound
            finally:
                await server.end()
        finally:
            await services.end()
