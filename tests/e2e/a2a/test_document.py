"""The client of the source document (a2a-client-tools), in its own words of the protocol.

It sends a message as it is, without an id, a task, a context or a token, and reports the results
of its tools as text. Written from the document's steps 1 to 4 and its chapter on errors.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from tests.e2e.a2a.support import gateway
from tests.e2e.harness import RunningServer
from tests.support.a2a_client import JsonObject, rpc, state_of
from tests.support.llm_server import Call, LLMServer, calls, text
from tests.support.model_turns import outputs

LOOPBACK = {"loopback_without_token": True}


def tool(name: str, *required: str) -> JsonObject:
    properties = {each: {"type": "string"} for each in required}
    parameters = {"type": "object", "properties": properties, "required": list(required)}
    function = {"name": name, "description": f"The tool {name}.", "parameters": parameters}
    return {"type": "function", "function": function}


TOOLS = [tool("get_weather", "location"), tool("read_file", "file_path")]

WEATHER = Call("c1", "get_weather", '{"location": "San Francisco, CA"}')
FILE = Call("c2", "read_file", '{"file_path": "/tmp/config.txt"}')
QUESTION = "What's the weather in San Francisco? Also read /tmp/config.txt"


@dataclass(frozen=True, slots=True)
class Parsed:
    """What the document's ``parseA2AMessageForLangChain`` reads from the answer's place."""

    content: str
    tool_calls: list[JsonObject]


class DocumentClient:
    """``A2AClient.fromCardUrl(…)`` and ``sendMessage(message)`` of the document."""

    def __init__(self, http: aiohttp.ClientSession, url: str) -> None:
        self._http, self._url = http, url
        self.tasks: list[JsonObject] = []

    async def send_message(self, message: JsonObject) -> Parsed:
        body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": message}
        async with self._http.post(self._url, json=body) as answer:
            found = await answer.json()
        if "error" in found:
            raise RuntimeError(found["error"]["message"])
        task = found["result"]
        self.tasks.append(task)
        parts = task["status"].get("message", {}).get("parts", [])
        called = [each for part in parts for each in part.get("data", {}).get("tool_calls", ())]
        said = [part["text"] for each in task.get("artifacts", ()) for part in each["parts"]]
        return Parsed("".join(said), called)

    async def send(self, words: str, *, tools: bool = True) -> Parsed:
        """Send the document's ``buildMessage(text)``; its messages of errors have no tools."""
        parts: list[JsonObject] = [{"kind": "text", "text": words}]
        if tools:
            metadata = {"type": "tool-definitions", "format": "langchain"}
            parts.append({"kind": "data", "data": {"tools": TOOLS}, "metadata": metadata})
        return await self.send_message({"kind": "message", "role": "user", "parts": parts})

    async def send_with_tools(self, words: str, execute: Callable[[str, JsonObject], Any]) -> str:
        """Hold the loop of step 4."""
        message = words
        for _ in range(5):
            parsed = await self.send(message)
            if not parsed.tool_calls:
                return parsed.content
            results: list[JsonObject] = []
            for call in parsed.tool_calls:
                try:
                    results.append(
                        {"name": call["name"], "result": execute(call["name"], call["args"])}
                    )
                except OSError as error:
                    results.append({"name": call["name"], "error": str(error)})
            message = f"Tool results: {json.dumps(results)}"
        raise AssertionError("Max tool call iterations exceeded")


@asynccontextmanager
async def from_card_url(server: RunningServer) -> AsyncIterator[DocumentClient]:
    timeout = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(timeout=timeout) as http:
        async with http.get(f"{server.http_url}/.well-known/agent-card.json") as answer:
            card = await answer.json()
        yield DocumentClient(http, card["url"])


async def test_one_text_for_each_tool() -> None:
    """Steps 1 to 3: each text settles the tool that it names, and no other."""
    async with (
        LLMServer() as llm,
        gateway(llm, a2a=LOOPBACK) as server,
        from_card_url(server) as client,
    ):
        llm.script(calls(WEATHER, FILE), text("Sunny; the file is empty."))
        parsed = await client.send(QUESTION)
        assert [each["name"] for each in parsed.tool_calls] == ["get_weather", "read_file"]
        for call in reversed(parsed.tool_calls):
            value = {"content": "", "size": 0} if call["name"] == "read_file" else "sunny"
            parsed = await client.send(f'Tool "{call["name"]}" returned: {json.dumps(value)}')
        assert parsed.content == "Sunny; the file is empty."
        assert outputs(llm, 1) == ["sunny", '{"content": "", "size": 0}']
        assert len({task["id"] for task in client.tasks}) == 1
        assert server.app.health()["a2a"]["running"] == 0


async def test_the_loop_of_its_agent() -> None:
    """Step 4: all results in one text, one of them an error, and a second round of calls."""

    def execute(name: str, arguments: JsonObject) -> object:
        if name == "read_file" and arguments["file_path"] != "/etc/config.txt":
            raise FileNotFoundError("no such file")
        return {"sky": "clear"} if name == "get_weather" else "x=1"

    again = Call("c3", "read_file", '{"file_path": "/etc/config.txt"}')
    async with (
        LLMServer() as llm,
        gateway(llm, a2a=LOOPBACK) as server,
        from_card_url(server) as client,
    ):
        llm.script(calls(WEATHER, FILE), calls(again), text("Clear, and x is 1."))
        assert await client.send_with_tools(QUESTION, execute) == "Clear, and x is 1."
        weather, missing = outputs(llm, 1)
        assert weather == '{"sky": "clear"}'
        assert json.loads(missing)["error"]["message"] == "no such file"
        assert outputs(llm, 2)[-1:] == ["x=1"]


async def test_an_error_of_its_tool() -> None:
    """The chapter on errors: without quotes, and without the tools."""
    async with (
        LLMServer() as llm,
        gateway(llm, a2a=LOOPBACK) as server,
        from_card_url(server) as client,
    ):
        llm.script(calls(WEATHER, FILE), text("Neither works."))
        await client.send(QUESTION)
        await client.send("Tool read_file failed: EACCES: permission denied", tools=False)
        answer = await client.send("Tool get_weather failed: offline", tools=False)
        assert answer.content == "Neither works."
        found = [json.loads(each)["error"]["message"] for each in outputs(llm, 1)]
        assert found == ["offline", "EACCES: permission denied"]


async def test_two_tasks_that_nothing_tells_apart_are_ended_at_once() -> None:
    """A result goes to no task by chance, and none waits for its time-out. One that its client
    has named is left alone."""
    async with (
        LLMServer() as llm,
        gateway(llm, a2a=LOOPBACK) as server,
        from_card_url(server) as client,
        from_card_url(server) as other,
        rpc(server.http_url, "0.3") as reader,
    ):
        del reader.headers["Authorization"]
        llm.script(text("Hello."), *(calls(WEATHER) for _ in range(3)), text("Sunny."))
        named = await reader.send("Hello")
        await reader.send("And?", {"data": {"tools": TOOLS}}, contextId=named["contextId"])
        await client.send(QUESTION)
        await other.send(QUESTION)
        with pytest.raises(RuntimeError, match="2 tasks wait for such a result; send contextId"):
            await client.send('Tool "get_weather" returned: sunny')
        assert server.app.health()["a2a"]["running"] == 1
        for each in (client, other):
            assert state_of(await reader.get(each.tasks[0]["id"])) == "FAILED"
        said = 'Tool "get_weather" returned: sunny'
        done = await reader.send(said, contextId=named["contextId"])
        assert state_of(done) == "COMPLETED"
        assert server.count("a2a.results.ambiguous") == 1


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:8003"}, 200),
        ({"Host": "voice.example.org"}, 401),
        ({"X-Forwarded-For": "192.0.2.7"}, 401),
        ({"Forwarded": "for=192.0.2.7"}, 401),
        ({"Origin": "https://example.org"}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
    ],
)
async def test_who_needs_no_token(headers: dict[str, str], status: int) -> None:
    """A program of this machine alone: no client of a proxy, no page of a browser."""
    async with LLMServer() as llm, gateway(llm, a2a=LOOPBACK) as server:
        url = f"{server.http_url}/a2a/rest/tasks"
        sent = {"A2A-Version": "1.0", **headers}
        async with aiohttp.ClientSession() as http, http.get(url, headers=sent) as answer:
            assert answer.status == status
