"""Settings that are changed in the browser: saved over the API, in force in all processes."""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.e2e.api_client import Answer, Client
from tests.e2e.processes import LIGHT, LIGHT_YAML, Running, light_environment, running
from tests.support.llm_server import LLMServer, text
from tests.support.servers import free_ports
from vixio.core.wall_clock import now_ms
from vixio.data.database.create import make_database
from vixio.web.api.keys import Keys
from vixio.web.api.scopes import Scope

KEY = "sk-of-the-browser-1234567890"
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
