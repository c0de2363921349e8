"""The tool source on a real broker that goes away and comes back, and services as commands."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from tests.brokers.parts import LIMIT, number, on_servers
from tests.support.brokers import BrokerServer
from tests.support.servers import python
from tests.support.waiting import until
from vixio.core.metrics import Counters
from vixio.core.tools.runtime import ToolRuntime
from vixio.core.tools.session import SessionTools
from vixio.core.tools.types import ToolCallResult
from vixio.tools.broker.source import BrokerSource
from vixio.tools.registry import SourceContext, resolve

pytestmark = on_servers

SERVICE = """
import asyncio, os
from vixio.bus import DynamicToolService

class Slow(DynamicToolService):
    id = "slow-{name}"
    tools = (
        {{"name": "wait", "description": "Wait.", "arguments": [{{"name": "file"}}]}},
        {{"name": "wait-again", "description": "Wait.", "idempotent": True,
          "arguments": [{{"name": "file"}}]}},
        {{"name": "who", "description": "Who."}},
    )

    async def invoke(self, user, config, arguments):
        if "file" not in arguments:
            return str(os.getpid())
        with open(arguments["file"], "a") as file:
            file.write("begun\\n")
        while not os.path.exists(arguments["file"] + ".go"):
            await asyncio.sleep(0.01)
        return "waited"
"""


@pytest.fixture
def name() -> str:
    """Return a name of the test's own."""
    return f"{os.getpid()}-{number()}"


@pytest.fixture
def real(server: BrokerServer, url: str) -> BrokerServer:
    """Return the broker, which is up."""
    return server


@asynccontextmanager
async def command(
    directory: Path, url: str, name: str, *arguments: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run `vixio tool-service` in this context."""
    (directory / "slow.py").write_text(SERVICE.format(name=name), encoding="utf-8")
    async with python(
        *("-m", "vixio", "tool-service", "slow:Slow"),
        *("--url", url, "--prefix", f"p{name}", *arguments),
        cwd=directory,
        stderr=asyncio.subprocess.PIPE,
    ) as process:
        yield process


async def logged(process: asyncio.subprocess.Process, words: str) -> str:
    """Wait for a line of the log."""
    assert process.stderr is not None
    async with asyncio.timeout(LIMIT):
        while line := (await process.stderr.readline()).decode():
            if words in line:
                return line
    pytest.fail(f"it ended without {words!r}")


@asynccontextmanager
async def source(
    url: str, name: str, **options: object
) -> AsyncIterator[tuple[BrokerSource, SessionTools]]:
    """Run a runtime with the broker as its only source, and a session."""
    factory = resolve("broker")
    settings = factory.settings_model.model_validate(
        {"url": url, "prefix": f"p{name}", "timeout": LIMIT, **options}
    )
    made = factory.create(settings, SourceContext("broker", counters=Counters()))
    assert isinstance(made, BrokerSource)
    runtime = ToolRuntime([made])
    await runtime.start()
    session = runtime.open("aa:bb", "s")
    try:
        yield made, session
    finally:
        await session.close()
        await runtime.close()


def begun(file: Path) -> bool:
    """Whether a call has written to its file, which it makes a moment before."""
    return file.exists() and file.read_text() == "begun\n"


async def call(session: SessionTools, name: str, **arguments: object) -> ToolCallResult:
    """Call a tool as the model does."""
    tool = next(tool for tool in session.toolset.definitions() if tool.name == name)
    async with asyncio.timeout(LIMIT):
        return await session.begin_turn(1, "en").run(tool, json.dumps(arguments))


async def test_a_broker_away_at_the_start_and_in_mid_call(
    real: BrokerServer, name: str, tmp_path: Path
) -> None:
    real.kill()
    file = tmp_path / "calls"
    async with source(real.url, name) as (broker, session):
        await broker.ready()
        assert session.toolset.definitions() == ()
        (fault,) = broker.faults
        assert "127.0.0.1" in fault.reason
        async with command(tmp_path, real.url, name) as service:
            await asyncio.to_thread(real.start)
            await until(session.toolset.definitions, what="tools", seconds=LIMIT)
            assert (await call(session, "who")).result == str(service.pid)

            calling = asyncio.create_task(call(session, "wait", file=str(file)))
            await until(lambda: begun(file), what="the call", seconds=LIMIT)
            real.kill()
            result = await calling
            assert result.error_type == "disconnected"
            await until(lambda: not session.toolset.definitions(), what="the loss", seconds=LIMIT)
            (tmp_path / "calls.go").touch()

            await asyncio.to_thread(real.start)
            await until(session.toolset.definitions, what="tools again", seconds=LIMIT)
            async with asyncio.timeout(LIMIT):
                answer = await call(session, "who")
                while answer.error_type == "disconnected":  # the service connects in its own time
                    answer = await call(session, "who")
            assert answer.result == str(service.pid)
            assert broker.faults == []
        assert file.read_text() == "begun\n"  # once


async def test_a_killed_instance_costs_a_call_and_an_idempotent_one_is_repeated(
    real: BrokerServer, url: str, name: str, tmp_path: Path
) -> None:
    once, again = tmp_path / "once", tmp_path / "again"
    async with source(url, name, idle_timeout=6) as (broker, session):
        async with command(tmp_path, url, name) as first:
            await until(session.toolset.definitions, what="tools", seconds=LIMIT)
            await until(broker.tools, what="tools", seconds=LIMIT)
            calls = [
                asyncio.create_task(call(session, "wait", file=str(once))),
                asyncio.create_task(call(session, "wait-again", file=str(again))),
            ]
            await until(lambda: begun(once) and begun(again), what="calls", seconds=LIMIT)
            # The other is there before: its start may take longer than a repeated call waits.
            async with command(tmp_path, url, name) as second:
                await logged(second, "tool service ready")
                first.kill()
                await first.wait()
                (tmp_path / "again.go").touch()
                executed_once, repeated = await asyncio.gather(*calls)
        assert executed_once.error_type == "disconnected"
        assert once.read_text() == "begun\n"
        assert repeated.result == "waited"
        assert again.read_text() == "begun\nbegun\n"


async def test_a_signal_lets_calls_end(
    real: BrokerServer, url: str, name: str, tmp_path: Path
) -> None:
    file = tmp_path / "calls"
    async with (
        source(url, name) as (_, session),
        command(tmp_path, url, name, "--grace", "60") as service,
    ):
        await until(session.toolset.definitions, what="tools", seconds=LIMIT)
        calling = asyncio.create_task(call(session, "wait", file=str(file)))
        await until(lambda: begun(file), what="the call", seconds=LIMIT)
        service.send_signal(signal.SIGTERM)
        await logged(service, "tool service stopping")
        (tmp_path / "calls.go").touch()
        assert (await calling).result == "waited"
        line = await logged(service, "tool service stopped")
        assert "calls=1" in line
        async with asyncio.timeout(LIMIT):
            assert await service.wait() == 0
        await until(lambda: not session.toolset.definitions(), what="its farewell", seconds=LIMIT)


async def test_check_shows_services(
    real: BrokerServer, url: str, name: str, tmp_path: Path
) -> None:
    config = tmp_path / "vixio.yaml"
    config.write_text(
        yaml.safe_dump({"tools": {"broker": {"url": url, "prefix": f"p{name}"}}}), encoding="utf-8"
    )
    async with command(tmp_path, url, name) as first, command(tmp_path, url, name) as second:
        for service in (first, second):
            await logged(service, "tool service ready")
        check = ("-m", "vixio", "check", "--config", str(config))
        line = ""
        async with asyncio.timeout(4 * LIMIT):
            # A check shows who has answered by then; on a busy machine that may be one of the two.
            while f"3 broker (slow-{name}: 2 instances, answers in " not in line:
                async with python(*check, stdout=asyncio.subprocess.PIPE) as checking:
                    out, _ = await checking.communicate()
                (line,) = [each for each in out.decode().splitlines() if each.startswith("tools")]
