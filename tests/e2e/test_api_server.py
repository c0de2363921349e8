"""The server as its operator sees it over the API: parts, trials, load, log, logins."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import aiohttp
import pytest
import pytest_asyncio

from firmware_test_client import SimulatedDevice, Tool
from tests.e2e.api_client import DEFAULTS, Answer, ApiServer, Client, api_server
from tests.e2e.stages import knows_tool
from tests.support.waiting import until
from tests.unit.tools.mcp.servers import BOUND, SCRIPT
from vixio.composition.load_series import COUNTS, LoadSeries
from vixio.composition.view import OperatorView
from vixio.core.errors import ProviderError
from vixio.providers.fallback.tts import FallbackTTSProvider
from vixio.testing import ScriptedAgentBackend, ScriptedASR, ScriptedTTS, ScriptedVAD
from vixio.web.api.first_login import FILE_NAME
from vixio.web.api.mount import ApiMount
from vixio.web.api.scopes import Scope

SENTENCE = "please turn on the lamp"
PRIVATE_WORDS = "my grandmother's birthday cake"

READERS = ("/server/parts", "/server/log", "/server/settings", "/logins")
"""For admin only."""


class DeadTTS(ScriptedTTS):
    """Starts, and fails at its first sentence."""

    name = "dead"

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Fail."""
        if text:
            raise ProviderError("dead", "out of order: repair it", reason="service")
        yield b""


class WaitingTTS(ScriptedTTS):
    """Waits before it speaks, until it is let go."""

    name = "waiting"

    def __init__(self) -> None:
        super().__init__()
        self.reached = asyncio.Event()
        self.go = asyncio.Event()

    async def synthesize(self, text: str, *, language: str = "") -> AsyncIterator[bytes]:
        """Yield silence, later."""
        self.reached.set()
        await self.go.wait()
        async for pcm in super().synthesize(text, language=language):
            yield pcm


def refused(answer: Answer, status: int, words: str = "") -> None:
    assert answer.status == status, answer.body
    assert words in answer.body["detail"]


def by_name(parts: list[dict[str, Any]], key: str = "name") -> dict[str, dict[str, Any]]:
    return {each[key]: each for each in parts}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def usual(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ApiServer]:
    """A server with the providers of the settings, and tools of an MCP server that is there."""
    servers = {
        "house": {"command": sys.executable, "args": [str(SCRIPT), "stdio"]},
        "absent": {"command": "no-such-program-anywhere"},
    }
    folder = tmp_path_factory.mktemp("usual")
    async with api_server(folder, made=DEFAULTS, mcp_servers=servers) as api:
        async with asyncio.timeout(BOUND):
            for source in api.server.app.tools.sources:
                await source.ready()
        await api.loaded()
        yield api


@pytest.mark.asyncio(loop_scope="module")
async def test_the_parts_with_the_tools_of_each_source(usual: ApiServer) -> None:
    call = await usual.client(Scope.ADMIN)
    found = (await call("GET", "/server/parts")).body
    providers = by_name(found["providers"], "kind")
    assert set(providers) == {"vad", "asr", "agent", "tts"}
    assert {each["state"] for each in providers.values()} == {"ready"}
    assert providers["tts"]["name"] == "espeak"
    assert all(each["default"] for each in providers.values())
    sources = by_name(found["sources"])
    house, absent = sources["house"], sources["absent"]
    assert (house["type"], house["state"], house["faults"]) == ("mcp", "ready", [])
    echo = by_name(house["tools"])["echo"]
    assert echo["description"]
    assert (absent["state"], absent["tools"]) == ("failed", [])
    assert "no-such-program-anywhere" in absent["faults"][0]["reason"]
    assert sources["builtin"]["tools"]

    tried = (await call("POST", "/server/check", {"part": "tools"})).body["parts"]
    rows = by_name(tried, "part")
    assert rows["tools.house"]["ok"]
    assert "tools" in rows["tools.house"]["detail"]
    assert not rows["tools.absent"]["ok"]
    assert "no-such-program-anywhere" in rows["tools.absent"]["detail"]


@pytest.mark.asyncio(loop_scope="module")
async def test_every_part_in_use_is_tried(usual: ApiServer) -> None:
    call = await usual.client(Scope.ADMIN)
    made = {id(each.provider) for each in usual.server.app.providers.pool.loaders()}
    answer = await call("POST", "/server/check")
    assert answer.status == 200, answer.body
    rows = by_name(answer.body["parts"], "part")
    assert [part for part in rows if not part.startswith("tools.")] == [
        "tts",
        "vad",
        "asr",
        "agent",
        "database",
    ]
    assert [part for part, row in rows.items() if not row["ok"]] == ["tools.absent"]
    assert all(isinstance(row["ms"], int) for row in rows.values())
    assert "turn on the lamp" in rows["asr"]["detail"]
    assert {id(each.provider) for each in usual.server.app.providers.pool.loaders()} == made
    alone = await call("POST", "/server/check", {"part": "asr"})
    assert [each["part"] for each in alone.body["parts"]] == ["asr"]
    refused(await call("POST", "/server/check", {"part": "house"}), 422, "part")
    # the providers go on to serve
    async with SimulatedDevice(usual.server.device()) as device:
        assert (await device.type_text("set the volume to thirty percent")).text


async def test_a_list_is_tried_one_by_one_and_shows_which_of_it_rests(tmp_path: Path) -> None:
    made = {
        "vad": ScriptedVAD(),
        "asr": ScriptedASR([SENTENCE]),
        "agent": ScriptedAgentBackend(),
        "tts": FallbackTTSProvider((DeadTTS(), ScriptedTTS())),
    }
    async with api_server(tmp_path, made=made) as api:
        call = await api.client(Scope.ADMIN)
        (tts,) = await parts_of(call, "tts")
        assert [each["state"] for each in tts["candidates"]] == ["ready", "ready"]
        tried = (await call("POST", "/server/check", {"part": "tts"})).body["parts"]
        rows = by_name(tried, "part")
        assert list(rows) == ["tts[0]", "tts[1]"]
        assert (rows["tts[0]"]["ok"], rows["tts[0]"]["ms"]) == (False, None)
        assert rows["tts[0]"]["detail"] == "dead: out of order: repair it"
        assert rows["tts[1]"]["name"] == "scripted"
        async with SimulatedDevice(api.server.device()) as device:
            assert (await device.type_text("hello")).text
        (tts,) = await parts_of(call, "tts")
        dead, other = tts["candidates"]
        assert (dead["name"], dead["state"], dead["failures"]) == ("dead", "resting", 1)
        assert dead["detail"] == "dead: out of order: repair it"
        assert dead["rests_until"] > 0
        assert (other["state"], other["rests_until"]) == ("ready", None)
        assert other["served"] >= 1


async def parts_of(call: Client, kind: str) -> list[dict[str, Any]]:
    found = (await call("GET", "/server/parts")).body["providers"]
    return [each for each in found if each["kind"] == kind]


async def test_one_trial_at_a_time_which_ends_with_the_server(tmp_path: Path) -> None:
    voice = WaitingTTS()
    made = {"vad": ScriptedVAD(), "asr": ScriptedASR(), "tts": voice}
    async with api_server(tmp_path, made={**made, "agent": ScriptedAgentBackend()}) as api:
        call = await api.client(Scope.ADMIN)
        first = asyncio.create_task(call("POST", "/server/check", {"part": "tts"}))
        async with asyncio.timeout(BOUND):
            await voice.reached.wait()
        refused(await call("POST", "/server/check"), 409, "already")
        voice.go.set()
        assert (await first).status == 200
        voice.reached.clear()
        voice.go.clear()
        second = asyncio.create_task(call("POST", "/server/check", {"part": "tts"}))
        async with asyncio.timeout(BOUND):
            await voice.reached.wait()
        await api.server.app.stop()
        try:
            ended = await second
        except aiohttp.ClientError:
            pass  # the connection ended first
        else:
            refused(ended, 503, "stops")


async def test_the_load_is_a_series_of_samples(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        call = await api.client(Scope.DEVICES_READ)
        series = series_of(api)
        async with SimulatedDevice(api.server.device()) as device:
            await device.type_text("set the volume to thirty percent")
            ended = api.server.ended_turns()
            await device.type_text("what is the capital of France")
            device.add_tool(Tool("self.lamp.turn_on", "Turn on the lamp", (), lambda: False))
            await knows_tool(api.server, device, "self.lamp.turn_on")
            await device.type_text("turn on the lamp")
            await until(lambda: len(ended) == 2, what="the turns' end")
            series.sample()
            load = (await call("GET", "/server/load?minutes=1")).body
        assert (load["interval_s"], load["processes"]) == (10, 1)
        names = ("connected", *COUNTS, "lag_ms", "rss_bytes", "cpu")
        assert {len(load[name]) for name in names} == {len(load["at"])}
        assert max(load["connected"]) == 1
        assert [sum(load[name]) for name in COUNTS] == [3, 1, 1]
        assert load["rss_bytes"][-1] > 10_000_000 or sys.platform != "linux"
        refused(await call("GET", "/server/load?minutes=0"), 422)


def series_of(api: ApiServer) -> LoadSeries:
    """Return what takes the samples; a test need not wait for the next ten seconds."""
    (view,) = [each._ports.view for each in api.server.app._mounts if isinstance(each, ApiMount)]
    assert isinstance(view, OperatorView)
    return view._load


async def test_the_log_has_its_last_lines_and_no_words_of_users(tmp_path: Path) -> None:
    vixio = logging.getLogger("vixio")
    before = vixio.level
    vixio.setLevel(logging.DEBUG)
    made = {"vad": ScriptedVAD(), "asr": ScriptedASR(), "tts": ScriptedTTS()}
    sections: dict[str, Any] = {"logging": {"words": True}, "tools": {"log_content": True}}
    try:
        async with api_server(tmp_path, made=made, **sections) as api:
            call = await api.client(Scope.ADMIN)
            start = (await call("GET", "/server/log")).body
            async with SimulatedDevice(api.server.device()) as device:
                await device.type_text(f"hello {PRIVATE_WORDS}")
                await device.type_text("set the volume to thirty percent")
                assert device.volume == 30
                tail = (await call("GET", f"/server/log?after={start['next']}&limit=500")).body
        messages = [line["message"] for line in tail["lines"]]
        assert "turn ended" in messages
        assert "device connected" in messages
        for withheld in ("user said", "assistant said", "tool called"):
            assert withheld not in messages
        assert tail["withheld"] >= start["withheld"] + 3
        assert PRIVATE_WORDS not in str(tail)
        ids = [line["id"] for line in tail["lines"]]
        assert ids == sorted(set(ids))
        assert (ids[0] > start["next"], tail["next"]) == (True, ids[-1])
        turn = next(line for line in tail["lines"] if line["message"] == "turn ended")
        assert turn["fields"]["device"] == device.config.device_id
        assert (turn["level"], turn["process"]) == ("INFO", "1")
    finally:
        vixio.setLevel(before)


async def test_only_lines_of_the_level_and_the_newest(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        call = await api.client(Scope.ADMIN)
        after = (await call("GET", "/server/log")).body["next"]
        log = logging.getLogger("vixio.test")
        for number in range(5):
            log.warning("a warning", extra={"number": number})
            log.error("an error", extra={"number": number})
        path = f"/server/log?after={after}&level=ERROR&limit=2"
        lines = (await call("GET", path)).body["lines"]
        assert [(each["message"], each["fields"]) for each in lines] == [
            ("an error", {"number": 3}),
            ("an error", {"number": 4}),
        ]
        refused(await call("GET", "/server/log?level=LOUD"), 422, "level")


async def test_logins_are_listed_and_ended_and_the_password_is_changed(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        nobody = await api.client()
        path = tmp_path / "data" / FILE_NAME
        for task in asyncio.all_tasks():
            if task.get_name() == "api login":
                await asyncio.wait([task])
        old = path.read_text().strip()
        clients = []
        for agent in ("A browser", "B" * 300):
            # The test's own address is that of a trusted proxy, which states its client.
            headers = {"User-Agent": agent, "X-Forwarded-For": "192.0.2.9"}
            login = await nobody("POST", "/login", {"password": old}, headers=headers)
            clients.append(api.bearer(login.body["token"]))
        one, two = clients
        listed = (await one("GET", "/logins")).body["logins"]
        assert {each["user_agent"] for each in listed} == {"A browser", "B" * 100}
        assert {each["address"] for each in listed} == {"192.0.2.9"}
        (current,) = [each for each in listed if each["current"]]
        (other,) = [each for each in listed if not each["current"]]
        assert current["user_agent"] == "A browser"
        assert current["used_at"] >= current["created_at"]
        assert (await one("DELETE", f"/logins/{other['id']}")).status == 204
        refused(await two("GET", "/me"), 401)
        refused(await one("DELETE", f"/logins/{other['id']}"), 404, "login")
        phone = await one("POST", "/tokens", {"name": "phone", "scopes": ["admin"]})
        refused(await one("DELETE", f"/logins/{phone.body['id']}"), 404, "login")

        third = api.bearer((await nobody("POST", "/login", {"password": old})).body["token"])
        new = "another password"
        wrong = {"old": "not the password", "new": new}
        refused(await one("POST", "/password", wrong), 403, "vixio api-password")
        refused(await one("POST", "/password", {"old": old, "new": "short"}), 422, "new")
        changed = await one("POST", "/password", {"old": old, "new": new})
        assert changed.status == 204, changed.body
        assert not path.exists()
        assert (await one("GET", "/me")).status == 200
        refused(await third("GET", "/me"), 401)
        assert (await api.bearer(phone.body["token"])("GET", "/me")).status == 200
        refused(await nobody("POST", "/login", {"password": old}), 401)
        assert (await nobody("POST", "/login", {"password": new})).status == 200
        actions = [each["action"] for each in (await one("GET", "/audit")).body["changes"]]
        assert "password set" in actions


async def test_the_banner_and_who_may_see_what(tmp_path: Path) -> None:
    access = {"access": "allow_list", "public_host": "192.0.2.7"}
    began = time.monotonic()
    async with api_server(tmp_path, server=access, assistant={"language": "de"}) as api:
        reader = await api.client(Scope.DEVICES_READ)
        shown = (await reader("GET", "/server")).body
        port = api.server.http_url.rpartition(":")[2]
        assert shown["ota_url"] == f"http://192.0.2.7:{port}/xiaozhi/ota/"
        assert (shown["language"], shown["access"], shown["processes"]) == ("de", "allow_list", 1)
        assert shown["mqtt"] == ""
        assert shown["troubles"].keys() <= {"providers"}  # they may be loading
        api.server.app.readiness.add("scales", lambda: "out of balance")
        assert (await reader("GET", "/server")).body["troubles"]["scales"] == "out of balance"
        async with asyncio.timeout(60):
            while (up := (await reader("GET", "/server")).body["uptime_s"]) < 1:  # noqa: ASYNC110 - of the answers
                await asyncio.sleep(0.05)
        assert shown["uptime_s"] <= up <= time.monotonic() - began + 1  # it is rounded
        for path in READERS:
            refused(await reader("GET", path), 403, "admin")
        refused(await reader("POST", "/server/check"), 403, "admin")
        assert (await reader("GET", "/server/load")).status == 200


async def test_the_ota_url_as_a_qr_code(tmp_path: Path) -> None:
    async with api_server(tmp_path) as api:
        token, stranger = await api.token(Scope.DEVICES_READ), await api.client(Scope.CONTROL)
        assert (await stranger("GET", "/server/ota-qr.svg")).status == 403
        url = f"{api.server.http_url}/api/v1/server/ota-qr.svg"
        headers = {"Authorization": f"Bearer {token}"}
        async with api.http.get(url, headers=headers) as answer:
            assert answer.status == 200
            assert answer.content_type == "image/svg+xml"
            picture = ElementTree.fromstring(await answer.text())  # noqa: S314 - our own
        assert picture.tag == "{http://www.w3.org/2000/svg}svg"
        assert len(list(picture.iter("{http://www.w3.org/2000/svg}path"))) == 2


async def test_the_settings_in_force_without_secrets(tmp_path: Path) -> None:
    planted = "Zq7aPlantedSecretOfTheTest"
    agent = {"name": "openai", "model": "m", "api_key": planted, "base_url": "http://127.0.0.1:1"}
    servers = {
        "house": {"url": f"http://me:{planted}@127.0.0.1:1/mcp", "headers": {"X-Any": planted}}
    }
    made = {"agent": ScriptedAgentBackend()}
    async with api_server(tmp_path, made=made, agent=agent, mcp_servers=servers) as api:
        call = await api.client(Scope.ADMIN)
        found = (await call("GET", "/server/settings")).body
        assert planted not in str(found)
        assert found["settings"]["agent"]["api_key"] == "***"
        assert found["settings"]["mcp_servers"]["house"]["url"] == "http://***@127.0.0.1:1/mcp"
        assert found["settings"]["server"]["host"] == "127.0.0.1"
        assert found["sources"]["server.host"] == "program"
        assert "server.max_connections" not in found["sources"]
        assert found["file"] == ""
        assert planted not in str((await call("GET", "/server/parts")).body)
        assert planted not in str((await call("GET", "/server/log?limit=500")).body)
