"""The JavaScript SDK of the A2A project, unmodified, against the running server.

``make test-a2a`` installs it, in two versions; elsewhere these tests are skipped.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.e2e.a2a.support import PARIS, ROME, gateway
from tests.e2e.harness import RunningServer
from tests.support.a2a_client import TOKEN
from tests.support.llm_server import Answer, LLMServer, Stall, calls, text
from tests.support.model_turns import outputs

CLIENTS = os.environ.get("VIXIO_A2A_CLIENTS", "")
"""The directory with the clients and their packages; set by ``make test-a2a``."""

BOUND = 120.0

pytestmark = pytest.mark.skipif(
    not CLIENTS, reason="the JavaScript SDK is not installed; `make test-a2a` installs it"
)

VERSIONS = ("0.3", "1", "1-rest")


@asynccontextmanager
async def running(
    client: str, server: RunningServer, scenario: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a scenario; it has to succeed."""
    process = await asyncio.create_subprocess_exec(
        "node",
        "run.mjs",
        client,
        server.http_url,
        scenario,
        cwd=CLIENTS,
        env={**os.environ, "A2A_TOKEN": TOKEN},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    errors = asyncio.create_task(process.stderr.read())
    try:
        async with asyncio.timeout(BOUND):
            yield process
            assert process.stdout is not None
            out = (await process.stdout.read()).decode()
            assert await process.wait() == 0, (await errors).decode()
            assert out.endswith("done\n")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        await errors


async def line(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    return (await process.stdout.readline()).decode().strip()


SCRIPTS: dict[str, tuple[Answer, ...]] = {
    "call": (calls(PARIS), calls(ROME), text("It is sunny.")),
    "text": (calls(PARIS), text("It is sunny.")),
    "parallel": (calls(PARIS, ROME), text("Both are sunny.")),
    "error": (calls(PARIS), text("It did not work.")),
    "context": (text("Hello Ann."), text("You are Ann.")),
}
CLEAR = '{"city": "%s", "days": 5, "sky": "clear"}'
RESULTS = {
    "call": [CLEAR % "Paris", CLEAR % "Rome"],
    "text": ['{"sky": "clear"}'],  # without the words around it
    "parallel": [CLEAR % "Paris", CLEAR % "Rome"],
    "context": [],
}


@pytest.mark.parametrize("client", VERSIONS)
@pytest.mark.parametrize("scenario", SCRIPTS)
async def test_a_scenario(client: str, scenario: str) -> None:
    async with LLMServer() as llm, gateway(llm) as server:
        llm.script(*SCRIPTS[scenario])
        async with running(client, server, scenario):
            pass
        assert len(llm.requests) == len(SCRIPTS[scenario])
        if scenario == "error":
            (content,) = outputs(llm)
            assert json.loads(content)["error"]["message"] == "no such city"
        else:
            assert outputs(llm) == RESULTS[scenario]


@pytest.mark.parametrize("client", VERSIONS)
async def test_a_stream(client: str) -> None:
    stall = Stall()
    async with LLMServer() as llm, gateway(llm) as server:
        llm.script(calls(PARIS), text("It is ", stall, "sunny."))
        async with running(client, server, "stream") as process:
            assert await line(process) == "words"
            stall.go.set()


@pytest.mark.parametrize("client", VERSIONS)
async def test_a_resubscription(client: str) -> None:
    stall = Stall()
    async with LLMServer() as llm, gateway(llm) as server:
        llm.script(text("One, ", stall, "two."))
        async with running(client, server, "resubscribe") as process:
            assert await line(process) == "subscribed"
            stall.go.set()


@pytest.mark.parametrize("client", VERSIONS)
async def test_a_cancellation(client: str) -> None:
    stall = Stall()
    async with LLMServer() as llm, gateway(llm) as server:
        llm.script(text("One, ", stall), calls(PARIS))
        async with running(client, server, "cancel") as process:
            assert await line(process) == "begun"
            await stall.reached.wait()
            assert process.stdin is not None
            process.stdin.write(b"cancel\n")
        await llm.hung_up.wait()


def test_the_versions_are_pinned() -> None:
    package = json.loads(Path(__file__).with_name("js").joinpath("package.json").read_text())
    pins = package["dependencies"].values()
    assert all(pin.startswith("npm:@a2a-js/sdk@") and pin[-1].isdigit() for pin in pins)
    assert {pin.rpartition("@")[2].partition(".")[0] for pin in pins} == {"0", "1"}
