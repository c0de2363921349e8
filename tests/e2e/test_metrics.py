"""``/metrics`` after real conversations, read by prometheus_client's own parser."""

from __future__ import annotations

import asyncio
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong
from tests.e2e.doubles import WaveformASR, recordings
from tests.e2e.harness import serving, settings
from tests.e2e.test_workers import two_processes
from tests.support.llm_server import Call, LLMServer, calls, failure, text
from tests.support.waiting import until
from vixio.telemetry.metrics.catalogue import ALL
from vixio.testing import ScriptedAgentBackend, ScriptedTTS

DEVICE = "02:00:00:00:00:5e"
SOUND = "turn it up"


async def page(server: str) -> str:
    def fetch() -> str:
        with urllib.request.urlopen(f"{server}/metrics", timeout=30) as answer:  # noqa: S310  loopback, http
            body: bytes = answer.read()
            return body.decode()

    return await asyncio.to_thread(fetch)


def samples(text: str) -> dict[str, float]:
    """Return the samples as ``name{label=value,…}``, and check their metrics against the list."""
    specs = {spec.name.removesuffix("_total"): spec for spec in ALL}
    found: dict[str, float] = {}
    for metric in text_string_to_metric_families(text):
        spec = specs.get(metric.name)
        assert spec is not None or metric.name.startswith("process_"), metric.name
        for sample in metric.samples:
            if spec is not None:
                assert set(sample.labels) - {"le"} == set(spec.labels)
            found[sample.name + shown(sample.labels)] = sample.value
        _check_histogram(metric)
    return found


def shown(labels: Mapping[str, str]) -> str:
    inside = ",".join(f"{name}={value}" for name, value in sorted(labels.items()))
    return f"{{{inside}}}" if labels else ""


def _check_histogram(metric: Metric) -> None:
    counts = [each.value for each in metric.samples if each.name.endswith("_count")]
    infinite = [each.value for each in metric.samples if each.labels.get("le") == "+Inf"]
    assert counts == infinite


async def test_conversations_are_seen_in_it() -> None:
    known = await recordings([SOUND])
    async with LLMServer() as llm:
        agent = {"name": "openai", "base_url": llm.base_url, "api_key": "k", "model": "m"}
        config = settings(agent=agent)
        async with (
            serving(config, asr=WaveformASR(known), tts=ScriptedTTS()) as server,
            SimulatedDevice(server.device(device_id=DEVICE)) as device,
        ):
            ended = server.ended_turns()
            llm.script(
                calls(Call("1", "self_audio_speaker_set_volume", '{"volume": 30}')), text("Done.")
            )
            assert (await device.ask(SOUND)).text == "Done."
            llm.script(failure(401, "no"))
            await device.type_text("hello")
            await until(lambda: len(ended) == 2, what="both turns")
            written = await page(server.http_url)
            assert_nothing_wrong(device)
    assert DEVICE not in written
    assert SOUND not in written
    found = samples(written)
    assert found["vixio_devices_connected"] == found["vixio_sessions"] == 1
    assert found["vixio_sessions_opened_total"] == found["vixio_ota_requests_total"] == 1
    assert found["vixio_turns_total{outcome=answered}"] == 1
    assert found["vixio_turns_total{outcome=failed}"] == 1
    assert found["vixio_turn_failures_total{stage=reply}"] == 1
    assert found["vixio_provider_errors_total{kind=agent,provider=openai,reason=no_key}"] == 1
    assert found["vixio_ready{check=providers}"] == 0
    assert found["vixio_tool_calls_total{outcome=ok,source=device}"] == 1
    assert found["vixio_tool_call_seconds_count{source=device}"] == 1
    for stage in ("transcript", "first_token", "first_sentence", "first_audio", "first_frame"):
        assert found[f"vixio_turn_stage_seconds_count{{stage={stage}}}"] == 1
    (model,) = [name for name in found if name.startswith("vixio_model_calls_total")]
    assert found[model] == 2
    assert found["process_cpu_seconds_total"] > 0
    assert found["process_resident_memory_bytes"] > 0


async def test_a_scrape_has_the_samples_of_all_processes(tmp_path: Path) -> None:
    """Whichever process the kernel chooses."""
    async with two_processes(tmp_path) as served, AsyncExitStack() as devices:
        url = f"http://127.0.0.1:{served.http_port}"
        for _ in range(4):
            await devices.enter_async_context(SimulatedDevice(DeviceConfig(ota_url=served.ota)))
        await served.until(lambda found: found["connected"] == 4, "all devices")

        async def connected() -> dict[str, float]:
            """Return the number of devices by process."""
            written = text_string_to_metric_families(await page(url))
            return {
                sample.labels["worker"]: sample.value
                for metric in written
                for sample in metric.samples
                if sample.name == "vixio_devices_connected"
            }

        async with asyncio.timeout(60):  # the library is imported behind the open ports
            while len(await connected()) != 2:
                pass
        for _ in range(8):
            assert sum((await connected()).values()) == 4


async def test_without_its_library_the_server_runs_all_the_same(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in [name for name in sys.modules if name.startswith("vixio.telemetry.metrics.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    agent = ScriptedAgentBackend()
    async with (
        serving(asr=WaveformASR({}), agent=agent, tts=ScriptedTTS()) as server,
        SimulatedDevice(server.device()) as device,
    ):
        assert (await device.type_text("hello")).text == "You said hello."
        await until(lambda: "no metrics" in caplog.messages, what="the warning")
        with pytest.raises(urllib.error.HTTPError) as refused:
            await page(server.http_url)
        with refused.value as answer:
            assert answer.code == 503
            assert "prometheus_client is not installed" in answer.read().decode()


@pytest.mark.parametrize("enabled", [True, False])
async def test_the_settings_say_whether_and_to_whom(enabled: bool) -> None:
    config = settings(metrics={"enabled": enabled, "allow": ["203.0.113.0/24"]})
    async with serving(config, asr=WaveformASR({}), tts=ScriptedTTS()) as server:
        with pytest.raises(urllib.error.HTTPError) as refused:
            await page(server.http_url)
        refused.value.close()
        assert refused.value.code == (403 if enabled else 404)
