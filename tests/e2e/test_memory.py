"""Conversations survive the end of the server, and no other device sees them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import sys
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, closing, suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import RunningServer, serving, settings
from tests.support import warm
from tests.support.waiting import until
from vixio.cli.commands import main
from vixio.core.history import AssistantMessage, HistoryItem, UserMessage
from vixio.data.database.create import FILE_NAME
from vixio.settings import Settings
from vixio.testing import ScriptedAgentBackend, ScriptedTTS

ROOT = Path(__file__).resolve().parents[2]
A, B = "02:00:00:00:00:0a", "02:00:00:00:00:0b"


def on(folder: Path | str, database: str = "") -> Settings:
    return settings(
        memory={"store": "database"}, data={"folder": str(folder), "database": database}
    )


def serving_with(
    config: Settings, agent: ScriptedAgentBackend
) -> AbstractAsyncContextManager[RunningServer]:
    return serving(
        config, asr=WaveformASR({}), agent=agent, tts=ScriptedTTS(seconds_per_char=0.002)
    )


async def say(server: RunningServer, device_id: str, *texts: str) -> None:
    """Connect a device, say something, and disconnect."""
    async with SimulatedDevice(server.device(device_id=device_id)) as device:
        for text in texts:
            await device.type_text(text)


def heard(agent: ScriptedAgentBackend, text: str) -> Sequence[HistoryItem]:
    """Return the history that the agent got with ``text``."""
    (request,) = (
        request for each in agent.agents for request in each.requests if request.text == text
    )
    return request.history


async def test_it_remembers_across_restarts(tmp_path: Path) -> None:
    path = tmp_path / "state"
    before = ScriptedAgentBackend()
    async with serving_with(on(path), before) as server:
        await say(server, A, "i am ada", "and i like tea")
        await say(server, B, "i am bob")
    after = ScriptedAgentBackend()
    async with serving_with(on(path), after) as server:
        await say(server, A, "who am i")
        await say(server, B, "and who am i")
        assert server.count("memory.late") == 0
    assert heard(after, "who am i") == [
        UserMessage("i am ada"),
        AssistantMessage("You said i am ada."),
        UserMessage("and i like tea"),
        AssistantMessage("You said and i like tea."),
    ]
    assert heard(after, "and who am i") == [
        UserMessage("i am bob"),
        AssistantMessage("You said i am bob."),
    ]


async def test_devices_at_the_same_time_never_see_each_other(tmp_path: Path) -> None:
    ids = [f"02:00:00:00:01:{number:02x}" for number in range(12)]
    agent = ScriptedAgentBackend()
    async with serving_with(on(tmp_path), agent) as server:
        for round_number in range(3):
            words = [f"device {device_id} says {round_number}" for device_id in ids]
            await asyncio.gather(*map(say, [server] * len(ids), ids, words))
    requests = [request for each in agent.agents for request in each.requests]
    assert len(requests) == 36
    for request in requests:
        mine = request.text.split()[1]
        said = [item.text for item in request.history if isinstance(item, UserMessage)]
        assert len(said) == int(request.text.split()[-1])
        assert all(mine in text for text in said), (mine, said)


async def test_without_a_place_to_write_it_answers_all_the_same() -> None:
    agent = ScriptedAgentBackend()
    async with serving_with(on("/proc/vixio"), agent) as server:
        await say(server, A, "one")
        await say(server, A, "two")
        await until(lambda: server.count("memory.failed"), what="the failed writes")
    assert heard(agent, "two") == [UserMessage("one"), AssistantMessage("You said one.")]


async def test_with_a_damaged_file_it_answers_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.write_bytes(b"rubbish " * 4_096)
    agent = ScriptedAgentBackend()
    async with serving_with(on(tmp_path), agent) as server:
        await say(server, A, "one", "two")
    assert heard(agent, "two") == [UserMessage("one"), AssistantMessage("You said one.")]
    assert path.read_bytes() == b"rubbish " * 4_096


async def test_the_command_line_shows_and_erases_beside_the_server(tmp_path: Path) -> None:
    config = tmp_path / "vixio.yaml"
    config.write_text(f"data: {{folder: {tmp_path}}}\n")

    async def vixio(*arguments: str) -> str:
        command = ["memory", *arguments, "--config", str(config)]
        shown = await asyncio.to_thread(CliRunner().invoke, main, command)
        assert shown.exit_code == 0, shown.output
        return shown.output

    agent = ScriptedAgentBackend()
    async with serving_with(on(tmp_path), agent) as server:
        assert server.app.memory is not None
        await say(server, A, "my pin is 1234")
        await say(server, B, "hello")
        await server.app.memory.facts.add(A, "likes tea")
        await until(lambda: server.count("memory.saved") == 2, what="both turns")
        shown = await vixio(A.upper(), "show")
        assert "likes tea" in shown
        assert "user       my pin is 1234" in shown
        assert "assistant  You said my pin is 1234." in shown
        everything = json.loads(await vixio(A, "show", "--json"))
        assert everything["facts"] == ["likes tea"]
        assert everything["turns"][0][0] == {"role": "user", "content": "my pin is 1234"}
        listed = await vixio()
        assert A in listed
        assert B in listed

        assert await vixio(A, "clear") == f"{A}: erased\n"
        assert "nothing is remembered" in await vixio(A)
        assert "hello" in await vixio(B)
        await say(server, A, "what is my pin")
        assert await server.app.memory.facts.facts(A) == []
    assert heard(agent, "what is my pin") == []
    assert (
        await vixio("02:00:00:00:00:0c", "clear") == "02:00:00:00:00:0c: nothing was remembered\n"
    )


SERVER = """
import asyncio, sys
from pathlib import Path
from tests.e2e.test_memory import on, serving_with
from vixio.testing import ScriptedAgentBackend

async def run():
    async with serving_with(on(Path(sys.argv[1])), ScriptedAgentBackend()) as server:
        print(server.ws_url, flush=True)
        await asyncio.sleep(60)

asyncio.run(run())
"""


async def test_a_turn_that_was_closed_survives_a_killed_server(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    process = await warm.create_subprocess_exec(
        *(sys.executable, "-c", SERVER, str(tmp_path)),
        cwd=ROOT,
        env=warm.kept(),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(90):
            ws_url = (await process.stdout.readline()).decode().strip()
        device = SimulatedDevice(DeviceConfig(ws_url=ws_url, device_id=A))
        await device.start()
        await device.type_text("remember the milk")
        saved = "SELECT count(*) FROM memory_items"

        def connect() -> sqlite3.Connection:
            return sqlite3.connect(f"file:{path}?mode=ro", uri=True)

        def is_saved() -> bool:
            with suppress(sqlite3.OperationalError), closing(connect()) as reader:
                return bool(reader.execute(saved).fetchone()[0])
            return False  # no file yet, or no table in it

        await until(is_saved, what="the turn")
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()
    await device.close()
    after = ScriptedAgentBackend()
    async with serving_with(on(tmp_path), after) as server:
        await say(server, A, "what was it")
    assert heard(after, "what was it") == [
        UserMessage("remember the milk"),
        AssistantMessage("You said remember the milk."),
    ]


CONVERSATION = """
import asyncio, sys
from pathlib import Path
from tests.e2e.harness import serving
from tests.e2e.test_memory import A, on, say
from tests.support.waiting import until

async def run():
    async with serving(on(Path(sys.argv[1]))) as server:
        await say(server, A, "what time is it")
        await until(lambda: server.count("memory.saved"), what="the turn")

asyncio.run(run())
print([name for name in ("agents", "openai", "mcp") if name in sys.modules])
"""


async def test_a_server_with_the_default_providers_does_without_the_agent_sdk(
    tmp_path: Path,
) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        CONVERSATION,
        str(tmp_path),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["", *sys.path])},
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0
    assert printed.decode().splitlines()[-1] == "[]"


async def test_a_server_without_its_database_answers_all_the_same() -> None:
    pytest.importorskip("asyncpg")
    agent = ScriptedAgentBackend()
    async with serving_with(on("", "postgresql://u:p@127.0.0.1:9/x"), agent) as server:
        await say(server, A, "one", "two")
        await until(lambda: server.count("memory.failed"), what="the failed writes")
    assert heard(agent, "two") == [UserMessage("one"), AssistantMessage("You said one.")]
