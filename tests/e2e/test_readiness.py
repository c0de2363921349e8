"""What cannot serve is known as such: on the health page, in the log, and to the user."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.checks import assert_nothing_wrong
from tests.e2e.doubles import recordings
from tests.e2e.harness import RunningServer, serving, settings
from tests.e2e.test_http import get
from tests.support.waiting import until
from vixio.core.backoff import Backoff
from vixio.core.errors import ProviderError
from vixio.core.messages import message
from vixio.testing import ScriptedAgentBackend, ScriptedTTS, ScriptedVAD

SOUND = "good morning"
NOT_READY = message("asr_not_ready", "en")

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
        for name, text in (("funasr", FUNASR), ("torch", "")):
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text(text, encoding="utf-8")

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
