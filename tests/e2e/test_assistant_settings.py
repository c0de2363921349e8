"""Settings that are changed in the browser: saved over the API, in force in all processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.e2e.api_client import Answer, Client, api_server
from tests.e2e.processes import LIGHT, LIGHT_YAML, Running, light_environment, running
from tests.support.llm_server import LLMServer, text
from tests.support.servers import free_ports
from tests.unit.tools.mcp.servers import RunningServer
from vixio.core.wall_clock import now_ms
from vixio.data.database.create import make_database
from vixio.web.api.keys import Keys
from vixio.web.api.scopes import Scope

KEY = "sk-of-the-browser-1234567890"
ODD_KEY = "open-sesame"
"""That nothing knows by its form."""
FILE = "assistant.yaml"


@dataclass
class Site:
    """A running server with a token for it, whose connections are not kept."""

    server: Running
    folder: Path
    config: Path
    ota: str
    client: Client

    @property
    def file(self) -> Path:
        """What is changed in the browser."""
        return self.folder / FILE

    async def __call__(self, method: str, path: str = "", body: object = None) -> Answer:
        """Send a request to whichever process takes the connection."""
        return await self.client(method, f"/assistant{path}", body)

    async def save(self, **sections: Any) -> Answer:  # noqa: ANN401 - JSON
        """Save a whole content."""
        return await self("PUT", "", {"content": sections})

    async def reply(self, words: str) -> str:
        """Return what a new device is answered."""
        config = DeviceConfig(ota_url=self.ota, mode="manual")
        async with SimulatedDevice(config) as device:
            return (await device.type_text(words)).text


async def admin_token(folder: Path) -> str:
    """Make a token in the database of a server that runs."""
    database = make_database(folder, "")
    await database.open()
    try:
        _, token = await Keys(database).create("test", [Scope.ADMIN], "test")
    finally:
        await database.close()
    return token


@asynccontextmanager
async def site(
    directory: Path, config: str = LIGHT_YAML, *, workers: int = 1, **environment: str
) -> AsyncIterator[Site]:
    """Run a server whose settings file has ``config``."""
    port, http_port = free_ports(2)
    folder, path = directory / "data", directory / "vixio.yaml"
    path.write_text(f"data: {{folder: '{folder}'}}\nmemory: {{store: none}}\n{config}")
    where = ("--port", str(port), "--http-port", str(http_port), "--workers", str(workers))
    command = (*LIGHT, "serve", "--config", path, "--host", "127.0.0.1", *where)
    connector = aiohttp.TCPConnector(force_close=True)
    async with (
        running(command, directory, {**light_environment(), **environment}) as server,
        aiohttp.ClientSession(connector=connector) as http,
    ):
        url = f"http://127.0.0.1:{http_port}"
        await server.line("OTA URL")
        client = Client(http, url, await admin_token(folder))
        yield Site(server, folder, path, f"{url}/xiaozhi/ota/", client)
        await server.stop(signal.SIGTERM)
    everything = "".join(server.out + server.err)
    assert "Traceback" not in everything, everything
    assert KEY not in everything
    assert ODD_KEY not in everything


def agent(llm: LLMServer, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {"name": "openai", "base_url": llm.base_url, "api_key": KEY, "model": "m", **more}


def mistakes(answer: Answer) -> dict[str, str]:
    assert answer.status == 422, answer.body
    assert KEY not in json.dumps(answer.body)
    return {each["path"]: each["message"] for each in answer.body["mistakes"]}


async def test_what_is_saved_is_in_force_in_all_processes_and_undone(tmp_path: Path) -> None:
    async with LLMServer() as llm, site(tmp_path, workers=2) as server:
        before = (await server("GET")).body
        assert before["content"] == {}
        assert not before["can_undo"]
        assert before["changed_at"] is None
        assert before["editable"]
        assert before["fixed"]["asr"] == f"{server.config}:3"
        assert before["fixed"]["assistant.filler_after"] == f"{server.config}:5"
        assert before["set_up"], "the settings file has a recogniser"

        saved = await server.save(agent=agent(llm), assistant={"language": "de"})
        assert saved.status == 200, saved.body
        assert saved.body["content"]["agent"]["api_key"] == "***"
        assert saved.body["in_force"]["agent"]["base_url"] == llm.base_url
        assert saved.body["in_force"]["assistant"]["language"] == "de"
        assert abs(saved.body["changed_at"] - now_ms()) < 60_000
        assert KEY in server.file.read_text()
        assert server.file.stat().st_mode & 0o777 == 0o600
        for _ in range(20):  # whichever process answers
            found = (await server("GET")).body
            assert found["in_force"]["agent"]["model"] == "m"
        llm.script(text("Guten Tag."))
        assert await server.reply("hallo") == "Guten Tag."
        assert llm.keys[-1] == f"bearer {KEY}"

        shown = (await server.client("GET", "/server/settings")).body
        assert shown["sources"]["agent.model"] == "console"
        assert shown["sources"]["asr.name"] == "file"
        assert shown["settings"]["agent"]["api_key"] == "***"

        undone = await server("POST", "/undo")
        assert undone.status == 200, undone.body
        assert undone.body["content"] == {}
        assert undone.body["in_force"]["agent"]["name"] == "phrasebook"
        assert not undone.body["can_undo"]
        assert (await server("POST", "/undo")).status == 409
        for _ in range(20):
            found = (await server("GET")).body
            assert found["in_force"]["agent"]["name"] == "phrasebook"
        changes = (await server.client("GET", "/audit")).body["changes"]
        noted = [
            (each["action"], each["detail"]) for each in changes if each["target"] == "assistant"
        ]
        sections = {"sections": ["assistant", "agent"]}
        assert noted == [("settings saved", sections), ("settings undone", sections)]


async def test_what_cannot_be_used_changes_nothing(tmp_path: Path) -> None:
    async with LLMServer() as llm, site(tmp_path) as server:
        good = (await server.save(agent=agent(llm))).body
        stored = server.file.read_bytes()

        fixed = mistakes(await server.save(agent=agent(llm), asr={"name": "pocketsphinx"}))
        assert fixed == {"asr": f"{server.config}:3 has it, which wins: change it there"}
        several = await server.save(
            agent=agent(llm, temprature=1), assistant={"language": 5, "wake_reply": []}, output={}
        )
        assert set(mistakes(several)) == {"output"}
        several = await server.save(
            agent=agent(llm, temprature=1), assistant={"time_zone": "Mars", "history_turns": 0}
        )
        assert set(mistakes(several)) == {
            "agent.temprature",
            "assistant.time_zone",
            "assistant.history_turns",
        }
        assert set(mistakes(await server.save(assistant=["de"], agent="openai"))) == {"assistant"}
        assert set(mistakes(await server.save(agent="openai"))) == {"agent"}
        program = {"home": {"command": "touch", "args": [str(tmp_path / "started")]}}
        found = mistakes(await server.save(agent=agent(llm), mcp_servers=program))
        assert "mcp_servers.home" in found
        elsewhere = agent(llm, api_key="***", base_url="http://127.0.0.1:9/v1")
        assert set(mistakes(await server.save(agent=elsewhere))) == {"agent.api_key"}
        # Made from what is there no more.
        late = {"content": {}, "changed_at": good["changed_at"] - 1}
        assert (await server("PUT", "", late)).status == 409
        variable = {"assistant": {"time_zone": "${VIXIO_TEST_SECRET}"}}
        (words,) = mistakes(await server("PUT", "", {"content": variable})).values()
        assert "environment variable" in words

        assert server.file.read_bytes() == stored
        assert (await server("GET")).body == good
        llm.script(text("Still here."))
        assert await server.reply("hello") == "Still here."
        assert not (tmp_path / "started").exists()
        assert sorted(each.name for each in server.folder.glob(f"{FILE}*")) == [
            FILE,
            f"{FILE}.before",
            f"{FILE}.lock",
        ]


@pytest.mark.skipif(find_spec("faster_whisper") is not None, reason="whisper can be made here")
async def test_a_provider_that_cannot_be_made_refuses_all(tmp_path: Path) -> None:
    light = "tts: {name: silence}\nassistant: {filler_after: 0}\n"
    async with LLMServer() as llm, site(tmp_path, light) as server:
        found = mistakes(await server.save(agent=agent(llm), asr={"name": "whisper"}))
        assert "whisper is not installed" in found["asr"]
        assert not server.file.exists()
        shown = (await server("GET")).body
        assert shown["in_force"]["agent"]["name"] == "phrasebook"
        assert list(server.folder.glob(f"{FILE}.*")) == [server.folder / f"{FILE}.lock"]


async def test_a_mask_stands_for_what_is_stored_for_the_address(tmp_path: Path) -> None:
    light = "asr: {name: nothing}\nassistant: {filler_after: 0}\n"
    async with LLMServer() as llm, site(tmp_path, light) as server:
        tools = {"home": {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": KEY}}}
        saved = await server.save(agent=agent(llm), mcp_servers=tools)
        assert saved.status == 200, saved.body
        content = saved.body["content"]
        assert content["mcp_servers"]["home"]["headers"] == {"Authorization": "***"}
        content["agent"]["model"] = "other"
        content["tts"] = {**agent(llm, api_key="***"), "voice": "alloy"}
        again = await server.save(**content)
        assert again.status == 200, again.body
        text_of = server.file.read_text()
        assert text_of.count(KEY) == 3
        assert "***" not in text_of
        content["mcp_servers"]["home"]["url"] = "http://127.0.0.1:10/mcp"
        found = mistakes(await server.save(**content))
        assert set(found) == {"mcp_servers.home.headers.Authorization"}


async def test_two_saves_at_once_leave_one_of_them_everywhere(tmp_path: Path) -> None:
    async with site(tmp_path, workers=2) as server:
        places = [f"place {number}" for number in range(6)]
        answers = await asyncio.gather(*(server.save(assistant={"place": each}) for each in places))
        assert {each.status for each in answers} == {200}
        kept = (await server("GET")).body["content"]["assistant"]["place"]
        assert kept in places
        for _ in range(20):
            found = (await server("GET")).body
            assert found["in_force"]["assistant"]["place"] == kept
        seen = (await server("GET")).body["changed_at"]
        bodies = [
            {"content": {"assistant": {"place": each}}, "changed_at": seen} for each in places
        ]
        answers = await asyncio.gather(*(server("PUT", "", each) for each in bodies))
        assert sorted(each.status for each in answers) == [200, *[409] * 5]


async def test_a_restart_keeps_it_and_a_broken_file_is_one_line(tmp_path: Path) -> None:
    async with LLMServer() as llm:
        async with site(tmp_path) as server:
            assert (await server.save(agent=agent(llm))).status == 200
        async with site(tmp_path) as server:
            llm.script(text("I am back."))
            assert await server.reply("hello") == "I am back."
            checked = await asyncio.to_thread(check, server.config)
            (line,) = (each for each in checked.splitlines() if each.startswith("agent "))
            assert "openai" in line
        server.file.write_text(f"agent: {{name: openai, api_key: '{KEY}', model: m")
        async with site(tmp_path) as server:
            lines = [each for each in server.server.err if FILE in each]
            assert len(lines) == 1
            assert f"{server.file}:1" in lines[0]
            assert await server.reply("hello")  # the phrase book's
            found = (await server("GET")).body
            assert found["problem"]
            assert found["editable"]
            assert found["content"] == {}
            assert FILE in await asyncio.to_thread(check, server.config)
            assert (await server.save(agent=agent(llm))).body["problem"] == ""
            llm.script(text("Mended."))
            assert await server.reply("hello") == "Mended."


def check(config: Path) -> str:
    """Return what `vixio check` says."""
    command = [sys.executable, "-m", "vixio", "check", "--config", str(config)]
    environment = {**os.environ, **light_environment()}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


async def test_tools_come_and_go_while_the_server_runs(tmp_path: Path) -> None:
    tools = RunningServer("streamable_http")
    await tools.start()
    try:
        async with LLMServer() as llm, site(tmp_path, workers=2) as server:
            assert (await server.save(agent=agent(llm))).status == 200
            home = {"mcp_servers": {"home": {"url": tools.url}}}
            tried = await server("POST", "/try", {"part": "mcp_servers.home", "content": home})
            assert tried.body["ok"], tried.body
            assert "echo" in tried.body["tools"]
            config = DeviceConfig(ota_url=server.ota, mode="manual")
            async with SimulatedDevice(config) as device:
                llm.script(text("No tools."))
                await device.type_text("hello")
                assert "echo" not in names(llm)
                content = {"agent": agent(llm, api_key="***"), **home}
                assert (await server.save(**content)).status == 200
                await tools_are(llm, device, lambda found: "echo" in found)
                assert (await server.save(agent=agent(llm, api_key="***"))).status == 200
                await tools_are(llm, device, lambda found: "echo" not in found)
            # The settings file, by the signal.
            with server.config.open("a") as file:
                file.write(f"mcp_servers: {{home: {{url: '{tools.url}'}}}}\n")
            server.server.process.send_signal(signal.SIGHUP)
            async with SimulatedDevice(config) as device:
                await tools_are(llm, device, lambda found: "echo" in found)
            found = mistakes(await server.save(mcp_servers={"home": {"url": "http://x.test/mcp"}}))
            assert "mcp_servers.home" in found
    finally:
        await tools.kill()


def names(llm: LLMServer) -> list[str]:
    return [each["function"]["name"] for each in llm.requests[-1].get("tools", [])]


async def tools_are(
    llm: LLMServer, device: SimulatedDevice, true: Callable[[list[str]], bool]
) -> None:
    """Ask until the model is offered the tools that are expected."""
    async with asyncio.timeout(30):
        while True:
            llm.script(text("Well."))
            await device.type_text("hello")
            if true(names(llm)):
                return


async def test_what_the_guide_can_offer(tmp_path: Path) -> None:
    plain = "assistant: {filler_after: 0}\n"
    async with site(tmp_path, plain, OPENAI_API_KEY=KEY, DEEPSEEK_API_KEY="") as server:
        assert not (await server("GET")).body["set_up"]
        found = (await server("GET", "/choices?language=de")).body
        assert found["language"] == "de"
        assert {"tag": "zh-CN", "name": "中文"} in found["languages"]
        ears = {each["name"]: each for each in found["ears"]}
        assert "moonshine" not in ears  # English alone
        assert ears["whisper"]["section"] == {"name": "whisper"}
        assert found["preferred"]["asr"] in ears
        services = {each["name"]: each for each in found["services"]}
        assert services["openai"]["key_known"]
        assert not services["deepseek"]["key_known"]
        assert "api_key" not in json.dumps(found)
        assert services["deepseek"]["agent"]["base_url"] == "https://api.deepseek.com/v1"
        chosen = {**services["openai"]["agent"], "model": "m", "api_key": "***"}
        unasked = {"content": {"agent": chosen}, "anyway": True}
        assert (await server("PUT", "", unasked)).status == 200
        assert "${OPENAI_API_KEY}" in server.file.read_text()
        english = (await server("GET", "/choices?language=en")).body
        assert english["ears"][0]["name"] == "moonshine"
        unknown = await server("POST", "/install", {"choices": ["asr.moonshine", "rm -rf"]})
        assert unknown.status == 422
        assert (await server("GET", "/install")).body["state"] == "idle"


async def test_a_program_keeps_its_own_settings(tmp_path: Path) -> None:
    async with api_server(tmp_path) as there:
        call = await there.client(Scope.ADMIN)
        found = (await call("GET", "/assistant")).body
        assert not found["editable"]
        assert "a program" in found["why_not"]
        assert (await call("PUT", "/assistant", {"content": {}})).status == 409
        other = await there.client(Scope.PROFILES)
        assert (await other("GET", "/assistant")).status == 403
