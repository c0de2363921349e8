"""What no database can store reaches a whole server by every door: it costs nobody anything.

Servers of models cut an emoji in two, a device may send U+0000, a stranger whatever they like.
"""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from firmware_test_client import SimulatedDevice
from tests.e2e.api_client import Client
from tests.e2e.doubles import WaveformASR
from tests.e2e.harness import RunningServer, serving, settings
from tests.support.llm_server import Answer, LLMServer, chunk, text
from tests.support.raw_a2a_agent import raw_agent
from tests.support.registry_databases import empty, fill, new_postgres, skip_postgres
from tests.support.waiting import until
from vixio.data.conversations.records import TurnRecord
from vixio.data.conversations.repository import ConversationRepository, Turns
from vixio.data.database.link import Operation
from vixio.testing import ScriptedTTS
from vixio.web.api.keys import Keys
from vixio.web.api.scopes import Scope

KITCHEN = "02:00:00:00:00:0a"
HALF, NUL, HUGE = "\ud83d", "\0", 10**30
LONG = "界" * 350_000
"""A megabyte in UTF-8."""

TEXTS = {"half": f"a{HALF}b", "nul": f"a{NUL}b", "both": f"a{HALF}\ude00b", "long": LONG}


@pytest.fixture(params=["sqlite", "postgresql"])
def data(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """Return the settings of a registry that is kept."""
    if request.param == "sqlite":
        return {"folder": str(tmp_path), "database": ""}
    skip_postgres()
    url = new_postgres(request.getfixturevalue("postgres_url"))
    return {"folder": str(tmp_path), "database": url}


class House:
    """A server with a stand-in of a model, and who asks it."""

    def __init__(
        self, server: RunningServer, model: LLMServer, http: aiohttp.ClientSession
    ) -> None:
        self.server, self.model, self._http = server, model, http
        self.registry = server.app.registry

    async def get(self, path: str) -> int:
        async with self._http.get(f"{self.server.http_url}{path}") as answer:
            return answer.status

    async def post(self, path: str, body: object, **headers: str) -> int:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        named["content-type"] = "application/json"
        url = f"{self.server.http_url}{path}"
        async with self._http.post(url, data=escaped(body), headers=named) as answer:
            return answer.status

    async def api(self) -> Client:
        _, token = await self.registry.use(
            lambda database: Keys(database).create("test", [Scope.ADMIN], "test")
        )
        return Client(self._http, self.server.http_url, token)

    async def turns(self) -> list[TurnRecord]:
        return list(
            await self.registry.use(
                lambda database: ConversationRepository(database).turns(Turns.of_device(KITCHEN))
            )
        )

    async def is_well(self) -> None:
        """Nothing of the server has gone, and a further turn is put on record."""
        async with asyncio.timeout(90):
            # The memory may still be opening, of which there is no event.
            while await self.get("/readyz") != 200:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        assert self.registry.problem() == ""
        before = len(await self.turns())
        self.model.script(text("All is well."))
        async with SimulatedDevice(self.server.device(device_id=KITCHEN)) as device:
            reply = await device.type_text("is all well")
        assert reply.text == "All is well."
        on_record = 0
        async with asyncio.timeout(90):
            while on_record <= before:
                await asyncio.sleep(0.05)
                on_record = len(await self.turns())
        assert (await self.get("/readyz"), self.registry.problem()) == (200, "")


@pytest.fixture
async def house(data: dict[str, Any]) -> AsyncIterator[House]:
    async with running(data) as here:
        yield here


@asynccontextmanager
async def running(data: dict[str, Any], **sections: Any) -> AsyncIterator[House]:  # noqa: ANN401 - settings
    async with LLMServer() as model:
        config = settings(
            data=data,
            agent={"name": "openai", "model": "m", "base_url": model.base_url},
            memory={"store": "database"},
            api={"enabled": True, "requests_per_minute": 0},
            **sections,
        )
        voice = ScriptedTTS(seconds_per_char=0.002)
        async with (
            serving(config, asr=WaveformASR({}), tts=voice) as server,
            aiohttp.ClientSession() as http,
        ):
            yield House(server, model, http)


def escaped(body: object) -> io.BytesIO:
    """Return JSON, its texts escaped: half of an emoji has no other spelling."""
    return io.BytesIO(json.dumps(body).encode())


def event(delta: dict[str, Any], finish: str | None = None) -> str:
    """Return an event of a stream, escaped."""
    body = json.loads(chunk(delta, finish).removeprefix("data: "))
    return f"data: {json.dumps(body)}\n\n"


def call(name: str, *pieces: str) -> Answer:
    """Return an answer that calls a tool, its arguments in these pieces."""
    head = {"index": 0, "id": "c1", "type": "function", "function": {"name": name, "arguments": ""}}
    steps = [event({"tool_calls": [head]})]
    for piece in pieces:
        delta = {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}
        steps.append(event(delta))
    return Answer([*steps, event({}, "tool_calls"), "data: [DONE]\n\n"])


async def test_a_full_disk_refuses_writing_and_not_reading(tmp_path: Path) -> None:
    async with running({"folder": str(tmp_path), "database": ""}) as house:
        await house.is_well()
        api = await house.api()
        await house.registry.link.call(Operation(fill))
        refused = 0
        while refused != 503:  # until nothing fits into the pages that there are
            alarm = {"device": KITCHEN, "text": "x" * 300, "in_seconds": 60}
            refused = (await api("POST", "/reminders", alarm)).status
            assert refused in {200, 201, 503}
        house.model.script(text("Yes."))
        async with SimulatedDevice(house.server.device(device_id=KITCHEN)) as device:
            reply = await device.type_text("and now " + "on and on " * 700)
        assert reply.text == "Yes."
        for path in ("/devices", "/conversations", "/reminders"):
            assert (await api("GET", path)).status == 200
        assert await house.get("/readyz") == 200
        assert len(await house.turns()) == 1
        await house.registry.link.call(Operation(empty))
        await house.is_well()
        assert [turn.said for turn in await house.turns()].count("Yes.") == 1
        assert house.server.count("conversations.lost") == 0


ARGUMENTS: dict[str, tuple[str, ...]] = {
    "an emoji cut in two": ('{"fact":"she likes ', "\ud83d", '\ude00"}'),
    "half of one": ('{"fact":"\ud83d"}',),
    "NUL": ('{"fact":"she likes \\u0000 tea"}',),
    "a number beyond all": (f'{{"fact":"tea","times":{HUGE}}}',),
    "a megabyte": (f'{{"fact":"{LONG}"}}',),
    "half of a call": ('{"fact":"\ud83d',),
}


@pytest.mark.parametrize("pieces", ARGUMENTS.values(), ids=ARGUMENTS)
async def test_what_a_model_writes(house: House, pieces: tuple[str, ...]) -> None:
    house.model.script(call("remember_fact", *pieces), Answer([event({"content": "I will."})]))
    async with SimulatedDevice(house.server.device(device_id=KITCHEN)) as device:
        await device.type_text("remember that she likes 😀")
    await house.is_well()
    first, *_ = sorted(await house.turns(), key=lambda turn: turn.at)
    assert first.heard == "remember that she likes 😀"
    assert [tool["name"] for tool in first.tools] == ["remember_fact"]
    json.dumps([first.tools, first.said], ensure_ascii=False).encode()


async def test_an_emoji_that_was_cut_in_two_is_whole_again(house: House) -> None:
    pieces = ARGUMENTS["an emoji cut in two"]
    house.model.script(call("remember_fact", *pieces), text("I will."))
    async with SimulatedDevice(house.server.device(device_id=KITCHEN)) as device:
        await device.type_text("remember it")
    await house.is_well()
    memory = house.server.app.memory
    assert memory is not None
    assert await memory.facts.facts(KITCHEN) == ["she likes 😀"]


@pytest.mark.parametrize("words", TEXTS.values(), ids=TEXTS)
async def test_what_a_model_says(house: House, words: str) -> None:
    house.model.script(Answer([event({"content": words[:4_000]}), event({}, "stop")]))
    async with SimulatedDevice(house.server.device(device_id=KITCHEN)) as device:
        await device.type_text("say something")
    await house.is_well()


@pytest.mark.parametrize("words", ["half", "nul", "both"])
async def test_what_a_device_sends(house: House, words: str) -> None:
    typed = TEXTS[words]
    house.model.script(text("Yes."))
    ended = house.server.ended_turns()
    async with SimulatedDevice(house.server.device(device_id=KITCHEN)) as device:
        for message in (
            {"type": "abort", "reason": typed},
            {"type": "mcp", "payload": {"jsonrpc": "2.0", "id": HUGE, "result": {"a": typed}}},
            {"type": "mcp", "payload": {"jsonrpc": "2.0", "method": typed, "params": HUGE}},
            {"type": typed},
            {"type": "listen", "state": "detect", "text": typed},
        ):
            await device.send_text(json.dumps(message))
        await device.flush()
        await until(lambda: ended, what="the turn")
    await house.is_well()


@pytest.mark.parametrize("words", ["half", "nul", "both", "long"])
async def test_what_a_stranger_says_at_ota(house: House, words: str) -> None:
    found = TEXTS[words]
    body = {
        "version": HUGE,
        "flash_size": HUGE,
        "language": found,
        "mac_address": found,
        "chip_model_name": found,
        "application": {"name": found, "version": found, "compile_time": found},
        "board": {"type": found, "name": found, "ssid": found, "rssi": -HUGE, "mac": found},
    }
    for path in ("/xiaozhi/ota/", "/xiaozhi/ota/activate"):
        await house.post(path, body, Device_Id=KITCHEN, Client_Id="c")
        await house.post(path, found, Device_Id=KITCHEN, Client_Id="c")
    await house.is_well()


@pytest.mark.parametrize("words", ["half", "nul", "both", "long"])
async def test_a_proof_without_any_credentials(data: dict[str, Any], words: str) -> None:
    """A device with a key is asked to prove it, by whoever knows its address."""
    keyed = "02:00:00:00:00:0b"
    found = TEXTS[words]
    async with running(data, server={"access": "activation"}) as house:
        await house.registry.with_repository(
            lambda repository: repository.add(keyed, "test", serial="S" * 32, key="ab" * 32)
        )
        await house.registry.with_repository(lambda repository: repository.add(KITCHEN, "test"))
        await house.post("/xiaozhi/ota/", {}, Device_Id=keyed, Client_Id="c")
        proof = {"hmac": found, "challenge": found, "serial_number": found, "algorithm": found}
        for body in (proof, {"Payload": proof}):
            for _ in range(4):
                status = await house.post(
                    "/xiaozhi/ota/activate", body, Device_Id=keyed, Client_Id="c"
                )
                assert status in {403, 413}
        await house.is_well()


@pytest.mark.parametrize("words", TEXTS)
async def test_what_a_client_of_the_api_writes(house: House, words: str) -> None:
    """Refused or stored: never a failure of the server, for this request or the next."""
    found = TEXTS[words]
    async with SimulatedDevice(house.server.device(device_id=KITCHEN)):
        pass
    api = await house.api()
    requests: list[tuple[str, str, Any]] = [
        ("PATCH", f"/devices/{KITCHEN}", {"name": found}),
        ("PATCH", f"/devices/{KITCHEN}", {"note": found}),
        ("POST", "/devices/claim", {"code": found}),
        ("POST", "/people", {"name": found}),
        ("POST", "/reminders", {"device": KITCHEN, "text": found, "in_seconds": 60}),
        ("POST", "/reminders", {"device": KITCHEN, "text": "x", "in_seconds": HUGE}),
        ("POST", f"/devices/{KITCHEN}/say", {"text": found}),
        ("PUT", "/profiles/kids", {"assistant": {"instructions": found}}),
        ("POST", f"/memory/devices/{KITCHEN}/facts", {"text": found}),
        ("POST", "/tokens", {"name": found, "scopes": ["devices:read"]}),
    ]
    for method, path, body in requests:
        url = f"{house.server.http_url}/api/v1{path}"
        headers = {"Authorization": f"Bearer {api.token}", "content-type": "application/json"}
        async with api.http.request(method, url, data=escaped(body), headers=headers) as answer:
            assert answer.status < 500, (method, path, await answer.text())
    for path in ("/conversations", "/devices", "/reminders", "/events"):
        if path != "/events":
            query = {"text": found[:200], "q": found[:200], "limit": str(HUGE)}
            answer_ = await api("GET", path, params=query)
            assert answer_.status < 500, path
    await house.is_well()


WRITTEN: dict[str, tuple[Any, int]] = {
    "half of an emoji": (f"a{HALF}b", 1),
    "the other half": ("a\ude00b", 1),
    "NUL": (f"a{NUL}b", 1),
    "a megabyte": ("界", 350_000),
    "a number beyond all": (HUGE, 1),
    "such in a key": ({f"a{HALF}{NUL}": [HUGE, -HUGE]}, 1),
    "an error": (f"a{HALF}{NUL}b", 0),
}
"""What a tool answers, and how often in a row; 0: as an error."""

PLAIN_MCP = Path(__file__).parents[1] / "support" / "plain_mcp.py"


async def asked(house: House, tool: str, arguments: dict[str, Any], what: str) -> None:
    """Have a device's turn call a tool, and the model read the result."""
    before = len(house.model.requests)
    house.model.script(call(tool, json.dumps(arguments)), text("That was it."))
    async with SimulatedDevice(house.server.device(device_id=KITCHEN)) as device:
        reply = await device.type_text(f"what is {what}")
    assert reply.text.endswith("That was it."), what  # an agent's words are spoken before
    requests = house.model.requests[before:]
    assert len(requests) == 2, what
    written = json.dumps(requests, ensure_ascii=False)
    written.encode()
    assert '\\"timeout\\"' not in written, what


async def all_on_record(house: House, tool: str) -> None:
    """The server is well, and each turn that called the tool is on record."""
    await house.is_well()
    turns = [each for each in await house.turns() if each.tools]
    assert {each.heard for each in turns} == {f"what is {what}" for what in WRITTEN}
    assert all([used["name"] for used in each.tools] == [tool] for each in turns)
    json.dumps([[each.tools, each.said] for each in turns], ensure_ascii=False).encode()


async def test_what_tools_of_an_mcp_server_answer(data: dict[str, Any]) -> None:
    server = {"command": sys.executable, "args": [str(PLAIN_MCP)]}
    async with running(data, mcp_servers={"plain": server}) as house:
        await until(lambda: has_tool(house, "write"), what="the tools of the MCP server")
        for what, (value, times) in WRITTEN.items():
            await asked(house, "write", {"json": json.dumps(value), "times": times}, what)
        await all_on_record(house, "write")


async def test_what_a2a_agents_answer(data: dict[str, Any]) -> None:
    answers = iter(WRITTEN.values())
    async with raw_agent(answers) as url:
        agent = {"url": url, "name": "teller", "allow_private": True}
        async with running(data, tools={"a2a": [agent]}) as house:
            await until(lambda: has_tool(house, "forecast"), what="the skills of the agent")
            for what in WRITTEN:
                await asked(house, "forecast", {"message": what}, what)
            await all_on_record(house, "forecast")
    assert next(answers, None) is None


def has_tool(house: House, name: str) -> bool:
    """Whether a source of the server has listed a tool."""
    return any(
        tool.name == name for each in house.server.app.tools.sources for tool in each.tools()
    )
