"""``make demo-api``, as a person runs it: printed, checked, and able to fail."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from examples.demos import api
from tests.e2e.processes import running
from vixio.core.errors import ConfigError
from vixio_bench.load.services.http import HttpService, Response

BOUND = 120.0

ROOT = Path(__file__).parents[2]

RUN = "import sys; from examples.demos.__main__ import main; sys.exit(main())"


async def test_a_life_by_curl(tmp_path: Path) -> None:
    command = (sys.executable, "-c", RUN, "api", "--wav", str(tmp_path / "demo.wav"))
    environment = {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    async with running(command, tmp_path, environment) as demo:
        last = await demo.line("steps as expected", seconds=BOUND)
        async with asyncio.timeout(BOUND):
            await demo.process.wait()
    printed = "".join(demo.out)
    assert last.strip() == "10 of 10 steps as expected", printed
    assert demo.process.returncode == 0
    # Each command is one that a person can type, and is followed by its answer.
    commands = re.findall(r"^\$ (curl .*)\n(.*)$", printed, re.MULTILINE)
    assert len(commands) == 11
    assert all(answer.startswith("{") for line, answer in commands if not line.endswith("&"))
    assert '{"status":"played","heard":"Dinner is ready.","until":""}' in printed
    assert '"state":"delivered"' in printed
    assert '"heard":"what time is it"' in printed
    assert "Traceback" not in "".join(demo.out + demo.err)


async def test_a_request_that_fails_counts(capsys: pytest.CaptureFixture[str]) -> None:
    """No server, an error status, no JSON: each is a failed step without a check of its own."""
    commands = api.Commands("http://127.0.0.1:9/api/v1")  # where nobody listens
    assert await commands("POST", "/devices/claim", {"code": "it's"}) == {}
    printed = capsys.readouterr().out
    assert """-d '{"code": "it'"'"'s"}' $API/devices/claim""" in printed
    assert "FAILED  POST /devices/claim succeeds: curl ended with 7" in printed
    assert (commands.failed, commands.checks) == (1, 1)

    def answer(path: str, body: bytes) -> Response:
        good = path.endswith("/good")
        return Response(
            "application/json", [b"{}" if good or "500" in path else b"<p>"], status(path)
        )

    def status(path: str) -> int:
        return 500 if path.endswith("/500") else 200

    service = HttpService(answer)
    commands = api.Commands(f"http://127.0.0.1:{await service.start()}")
    try:
        for path in ("/good", "/500", "/page"):
            await commands("GET", path)
    finally:
        service.stop()
    printed = capsys.readouterr().out
    assert "FAILED  GET /500 succeeds: HTTP 500" in printed
    assert "FAILED  GET /page succeeds: the answer is no JSON" in printed
    assert (commands.failed, commands.checks) == (2, 2)


def test_events_have_to_come_in_order() -> None:
    wanted = ("opened", "started", "ended", "started", "ended")
    assert api.in_order(wanted, ["opened", "x", "started", "ended", "started", "x", "ended"])
    assert not api.in_order(wanted, ["started", "ended", "started", "ended", "opened"])
    assert not api.in_order(wanted, ["opened", "started", "ended"])
    assert not api.in_order(wanted, [])


@pytest.mark.parametrize(
    ("changed", "good"),
    [
        ({}, True),
        ({"first_audio": 600}, False),  # before what leads to it
        ({"playout_end": None}, False),
        (dict.fromkeys(api.STAGES, 0), False),
    ],
)
def test_the_stages_of_a_turn_have_times_in_their_order(
    changed: dict[str, int | None], good: bool
) -> None:
    stages = dict(zip(api.STAGES, (0, 20, 40, 200, 1_500), strict=True)) | changed
    stages = {name: time for name, time in stages.items() if time is not None}
    assert api.has_stages({"stages": stages}) == good
    assert not api.has_stages({"stages": {}})
    assert not api.has_stages({})


async def test_without_curl_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="apt install curl"):
        await api.converse(None)
