"""``vixio demo --api``, as a person runs it: printed, checked, and able to fail."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from tests.e2e.processes import running
from vixio.core.errors import ConfigError
from vixio.demo import api

BOUND = 120.0

RUN = "from vixio.cli.commands import main; main()"


async def test_a_life_by_curl(tmp_path: Path) -> None:
    command = (sys.executable, "-c", RUN, "demo", "--api", "--wav", str(tmp_path / "demo.wav"))
    environment = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    async with running(command, tmp_path, environment) as demo:
        last = await demo.line("steps as expected", seconds=BOUND)
        async with asyncio.timeout(BOUND):
            await demo.process.wait()
    printed = "".join(demo.out)
    assert last.strip() == "8 of 8 steps as expected", printed
    assert demo.process.returncode == 0
    # Each command is one that a person can type, and is followed by its answer.
    commands = re.findall(r"^\$ (curl .*)\n(.*)$", printed, re.MULTILINE)
    assert len(commands) == 11
    assert all(answer.startswith("{") for line, answer in commands if not line.endswith("&"))
    assert '{"status":"played","heard":"Dinner is ready."}' in printed
    assert '"state":"delivered"' in printed
    assert '"heard":"what time is it"' in printed
    assert "Traceback" not in "".join(demo.out + demo.err)


async def test_a_wrong_answer_counts(capsys: pytest.CaptureFixture[str]) -> None:
    commands = api.Commands("http://127.0.0.1:9/api/v1")  # where nobody listens
    assert await commands("POST", "/devices/claim", {"code": "it's"}) == {}
    commands.check(False, "nothing")
    printed = capsys.readouterr().out
    assert """-d '{"code": "it'"'"'s"}' $API/devices/claim""" in printed
    assert "curl: (7)" in printed
    assert "FAILED  nothing" in printed
    assert (commands.failed, commands.checks) == (1, 1)


async def test_without_curl_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="apt install curl"):
        await api.converse(None)
