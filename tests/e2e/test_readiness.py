"""What cannot serve is known as such: on the health page, in the log, and to the user."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import socket
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong
from tests.e2e.doubles import WaveformASR, recordings
from tests.e2e.harness import RunningServer, serving, settings
from tests.e2e.test_http import get
from tests.support.llm_server import Answer, LLMServer, failure, text
from tests.support.waiting import until
from vixio.core.backoff import Backoff
from vixio.core.errors import ProviderError, ProviderUnavailable
from vixio.core.messages import message
from vixio.core.messages.fault import Fault
from vixio.testing import ScriptedAgentBackend, ScriptedTTS, ScriptedVAD

SOUND = "good morning"
NOT_READY = Fault("failed", "not_ready", "asr").words("en")

FUNASR = """
import os, pathlib
HERE = pathlib.Path(__file__).parent
class AutoModel:
    def __init__(self, **options):
        with open(HERE / "loads", "a") as loads:
            loads.write("x")
        if not (HERE / "mended").exists():
            os._exit(3)
        self.model = object()
    def generate(self, audio, **options):
        return [{"text": "good morning"} for _ in audio]
"""
"""Instead of the library: its process dies in the middle of loading, as one out of memory does."""


class Library:
    """The folder with the library that the worker process imports."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, code in (("funasr", FUNASR), ("torch", "")):
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text(code, encoding="utf-8")

    @property
    def loads(self) -> int:
        """How many times a model began to load."""
        file = self.folder / "funasr" / "loads"
        return len(file.read_text()) if file.exists() else 0

    def mend(self) -> None:
        """Have the next load succeed."""
        (self.folder / "funasr" / "mended").touch()


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    # Paths of the environment come first, so that an installed FunASR is not taken.
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return Library(tmp_path)


def retry_after(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = Backoff(first=seconds, longest=seconds)
    monkeypatch.setattr("vixio.providers.pool.loader.RETRY", pauses)


async def health(server: RunningServer) -> dict[str, object]:
    page: dict[str, object] = await get(f"{server.http_url}/healthz")
    return page


async def ready(server: RunningServer) -> tuple[int, dict[str, str]]:
    """Return the status of the readiness page, and why each check fails that does."""

    def fetch() -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(f"{server.http_url}/readyz", timeout=30) as answer:  # noqa: S310  loopback, http
                return answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read()

    status, body = await asyncio.to_thread(fetch)
    page = json.loads(body)
    assert page["ready"] is (status == 200)
    assert all(each["ok"] is not bool(each["reason"]) for each in page["checks"])
    assert {"ports", "providers", "draining"} <= {each["name"] for each in page["checks"]}
    return status, {each["name"]: each["reason"] for each in page["checks"] if not each["ok"]}


class HeldASR(WaveformASR):
    """Loads until it is let go on."""

    def __init__(self) -> None:
        super().__init__({})
        self.go_on = asyncio.Event()

    async def start(self) -> None:
        await self.go_on.wait()


async def test_a_server_is_ready_when_its_providers_have_loaded() -> None:
    asr = HeldASR()
    async with serving(
        vad=ScriptedVAD(), asr=asr, agent=ScriptedAgentBackend(), tts=ScriptedTTS(), loaded=False
    ) as server:
        assert await ready(server) == (503, {"providers": "still loading"})
        asr.go_on.set()
        await server.app.loaded()
        assert await ready(server) == (200, {})


async def test_a_recogniser_whose_process_dies_while_it_loads(
    library: Library, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    retry_after(3_600.0, monkeypatch)
    await recordings([SOUND])
    config = settings(asr={"name": "funasr"})
    caplog.set_level(logging.INFO, "vixio")
    async with (
        serving(
            config,
            vad=ScriptedVAD(),
            agent=ScriptedAgentBackend(),
            tts=ScriptedTTS(seconds_per_char=0.02),
            loaded=False,
        ) as server,
        SimulatedDevice(server.device()) as device,
    ):
        with pytest.raises(ProviderError, match="ended while it loaded the model"):
            await server.app.loaded()
        page = await health(server)
        assert (page["status"], page["unusable"]) == ("degraded", ["asr"])
        assert {
            "kind": "asr",
            "provider": "funasr",
            "state": "failed",
            "reason": "not_ready",
            "sessions": 2,
        } in page["pool"]  # type: ignore[operator]  # a list
        assert library.loads == 1
        for _ in range(2):
            reply = await device.ask(SOUND)
            assert reply.text == NOT_READY
        assert library.loads == 1, "nothing is loaded for a turn"
        assert (await device.type_text("hello")).text == "You said hello."
        assert_nothing_wrong(device)
    said = [record.getMessage() for record in caplog.records]
    assert "all providers are ready" not in said
    (line,) = (each for each in caplog.records if "some providers" in each.getMessage())
    assert (vars(line)["failed"], vars(line)["ready"]) == ("asr funasr", "3 of 4")


async def test_what_cannot_be_loaded_is_reported_once(
    library: Library, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    retry_after(3_600.0, monkeypatch)

    async def serve_until_loaded() -> None:
        async with serving(
            settings(asr={"name": "funasr"}),
            vad=ScriptedVAD(),
            agent=ScriptedAgentBackend(),
            tts=ScriptedTTS(seconds_per_char=0.02),
            loaded=False,
        ) as server:
            loading = server.app.readiness.loading
            assert loading is not None
            await asyncio.wait([loading])

    await serve_until_loaded()
    gc.collect()  # the loop reports what nobody has asked for when it is gone
    assert sum("some providers" in each.getMessage() for each in caplog.records) == 1
    assert [each for each in caplog.records if "never retrieved" in each.getMessage()] == []


async def test_it_is_loaded_again_beside_the_turns(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    retry_after(0.1, monkeypatch)
    await recordings([SOUND])
    config = settings(asr={"name": "funasr"})
    async with (
        serving(
            config,
            vad=ScriptedVAD(),
            agent=ScriptedAgentBackend(),
            tts=ScriptedTTS(seconds_per_char=0.02),
            loaded=False,
        ) as server,
        SimulatedDevice(server.device()) as device,
    ):
        assert (await device.ask(SOUND)).text in {NOT_READY, message("loading", "en")}
        await until(lambda: library.loads >= 2, what="another attempt", seconds=60)
        library.mend()
        await until(lambda: server.app.health()["status"] == "ok", what="readiness", seconds=60)
        assert "unusable" not in await health(server)
        assert (await device.ask(SOUND)).text == f"You said {SOUND}."


async def test_a_service_that_refuses_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known before the first turn, by a request that costs nothing; put right beside the turns."""
    retry_after(0.1, monkeypatch)
    async with LLMServer() as service:
        service.models = failure(401, "Incorrect API key provided: sk-12345678", "invalid_api_key")
        options = {"name": "openai", "base_url": service.base_url, "api_key": "wrong"}
        async with (
            serving(
                settings(agent=options),
                vad=ScriptedVAD(),
                asr=WaveformASR({}),
                tts=ScriptedTTS(seconds_per_char=0.02),
                loaded=False,
            ) as server,
            SimulatedDevice(server.device()) as device,
        ):
            with pytest.raises(ProviderUnavailable, match="refuses the api_key"):
                await server.app.loaded()
            assert not service.requests
            page = await health(server)
            assert (page["status"], page["unusable"]) == ("degraded", ["agent"])
            assert "sk-12345678" not in str(page)
            assert await ready(server) == (503, {"providers": "cannot be used: agent"})
            service.script(failure(401, "no"))
            reply = await device.type_text("hello")
            assert reply.text == "Sorry, the key for the language model is not valid."
            assert [each["message"] for each in device.alerts] == ["No valid key"]
            service.models = Answer(['{"data": []}'], headers={"content-type": "application/json"})
            await until(lambda: server.app.health()["status"] == "ok", what="readiness", seconds=60)
            assert (await ready(server))[0] == 200
            service.script(text("Good day."))
            assert (await device.type_text("hello")).text == "Good day."
            assert_nothing_wrong(device)


async def test_a_key_that_is_refused_in_use() -> None:
    """The service lists its models to everybody, so only the turns show that the key is wrong."""
    async with LLMServer() as service:
        service.models = Answer(['{"data": []}'], headers={"content-type": "application/json"})
        service.script(failure(401, "no"), text("Good day."))
        options = {"name": "openai", "base_url": service.base_url, "api_key": "wrong"}
        async with (
            serving(
                settings(agent=options),
                vad=ScriptedVAD(),
                asr=WaveformASR({}),
                tts=ScriptedTTS(seconds_per_char=0.02),
            ) as server,
            SimulatedDevice(server.device()) as device,
        ):
            assert (await health(server))["status"] == "ok"
            reply = await device.type_text("hello")
            assert reply.text == "Sorry, the key for the language model is not valid."
            assert (await health(server))["unusable"] == ["agent"]
            assert (await device.type_text("hello")).text == "Good day."
            assert (await health(server))["status"] == "ok"


async def test_a_service_that_cannot_be_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    options = {"name": "openai", "base_url": f"http://127.0.0.1:{port}/v1"}
    async with serving(
        settings(tts=options),
        vad=ScriptedVAD(),
        asr=WaveformASR({}),
        agent=ScriptedAgentBackend(),
        loaded=False,
    ) as server:
        with pytest.raises(ProviderError, match="cannot be reached"):
            await server.app.loaded()
        page = await health(server)
        assert page["unusable"] == ["tts"]
