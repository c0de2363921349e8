"""Two processes on one port: a request reaches the process that has its task."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from firmware_test_client import DeviceConfig, SimulatedDevice
from tests.e2e.a2a.support import PARIS
from tests.e2e.processes import (
    LIGHT,
    LIGHT_YAML,
    Running,
    light_environment,
    running,
)
from tests.support import patient
from tests.support.a2a_client import (
    TOKEN,
    WEATHER,
    Rpc,
    answer_of,
    calls_of,
    events_of,
    offered,
    result,
    results,
    state_of,
)
from tests.support.joined import cluster_yaml
from tests.support.llm_server import LLMServer, Stall, calls, text
from tests.support.servers import free_ports

BOUND = 60.0
MANY = 24
"""Connections: enough that both of two processes get some."""


@dataclass
class Served:
    """A running server of two processes. Each request comes by a connection of its own."""

    server: Running
    http: aiohttp.ClientSession
    url: str
    client: Rpc

    async def health(self) -> dict[str, Any]:
        async with self.http.get(f"{self.url}/healthz") as answer:
            body: dict[str, Any] = await answer.json()
            return body

    async def until_ready(self) -> None:
        """Wait until both processes answer."""
        async with asyncio.timeout(BOUND):
            ready = 0
            while ready < MANY:
                async with self.http.get(f"{self.url}/.well-known/agent-card.json") as answer:
                    ready = ready + 1 if answer.status == 200 else 0
                await asyncio.sleep(0.01)

    async def passed_on(self) -> int:
        return int((await self.health())["counters"].get("a2a.passed_on", 0))


@asynccontextmanager
async def two_processes(directory: Path, llm: LLMServer) -> AsyncIterator[Served]:
    port, http_port = free_ports(2)
    agent = {"name": "openai", "base_url": llm.base_url, "api_key": "k", "model": "m"}
    section = {"tokens": {"alice": TOKEN}, "devices": {}}
    path = directory / "vixio.yaml"
    path.write_text(
        f"server: {{workers: 2}}\nmemory: {{store: none}}\napi: {{enabled: false}}\n{LIGHT_YAML}"
        f"timeouts: {json.dumps(patient.sections()['timeouts'])}\n"
        f"agent: {json.dumps(agent)}\na2a: {json.dumps(section)}\n{cluster_yaml()}"
    )
    command = (*LIGHT, "serve", "--config", path, "--host", "127.0.0.1", "--port", str(port))
    where = ("--http-port", str(http_port))
    connector = aiohttp.TCPConnector(force_close=True)
    timeout = aiohttp.ClientTimeout(total=BOUND)
    async with (
        running((*command, *where), directory, light_environment()) as server,
        aiohttp.ClientSession(connector=connector, timeout=timeout) as http,
    ):
        await server.line("2 processes")
        url = f"http://127.0.0.1:{http_port}"
        served = Served(server, http, url, Rpc(http, f"{url}/a2a"))
        await served.until_ready()
        yield served
        await server.stop(signal.SIGTERM)
        assert server.process.returncode == 0
    everything = "".join(server.out + server.err)
    assert "Traceback" not in everything
    assert TOKEN not in everything


@pytest.mark.slow
async def test_two_processes_are_one_agent(tmp_path: Path) -> None:
    async with LLMServer() as llm, two_processes(tmp_path, llm) as served:
        await a_task_is_reached_by_any_connection(served, llm)
        await a_context_is_one_conversation(served, llm)
        await a_stream_is_passed_on(served, llm)
        await a_running_task_is_cancelled(served, llm)
        await by_http_and_json(served, llm)
        await a_device_is_reached(served, llm)
        health = await served.health()
        assert health["a2a"]["running"] == 0
        assert health["counters"]["a2a.passed_on"] >= 5
        await a_process_that_ends(served, llm)


async def a_task_is_reached_by_any_connection(served: Served, llm: LLMServer) -> None:
    client = served.client
    llm.script(calls(PARIS), text("It is sunny."))
    task = await client.send("Paris?", offered(WEATHER))
    before = await served.passed_on()
    for _ in range(MANY):
        assert state_of(await client.get(task["id"])) == "INPUT_REQUIRED"
    assert before < await served.passed_on() < before + MANY
    (call,) = calls_of(task)
    done = await client.send(results(result(call["id"], {"days": 5})), taskId=task["id"])
    assert (done["id"], answer_of(done)) == (task["id"], "It is sunny.")
    assert '{\\"days\\": 5}' in json.dumps(llm.requests[-1])


async def a_context_is_one_conversation(served: Served, llm: LLMServer) -> None:
    client = served.client
    llm.script(*(text("Fine.") for _ in range(MANY)))
    for number in range(MANY):
        task = await client.send(f"Word {number}", contextId="of-many-words")
        assert answer_of(task) == "Fine."
    said = [each["content"] for each in llm.requests[-1]["messages"] if each["role"] == "user"]
    assert said[-3:] == [f"Word {number}" for number in range(MANY - 3, MANY)]
    listed = await client.call("ListTasks", {"contextId": "of-many-words"})
    assert len(listed["tasks"]) == MANY


async def a_stream_is_passed_on(served: Served, llm: LLMServer) -> None:
    """Words come while they are written, through the process between."""
    for _ in range(4):
        stall = Stall()
        llm.script(calls(PARIS), text("One, ", stall, "two."))
        task = await served.client.send("Paris?", offered(WEATHER))
        (call,) = calls_of(task)
        seen: list[str] = []
        part = results(result(call["id"], "x"))
        async for event in served.client.stream(part, taskId=task["id"]):
            if "artifactUpdate" in event:
                seen += [each["text"] for each in event["artifactUpdate"]["artifact"]["parts"]]
                stall.go.set()
        assert "".join(seen) == "One, two."


async def a_running_task_is_cancelled(served: Served, llm: LLMServer) -> None:
    for _ in range(4):
        stall = Stall()
        llm.script(text("One, ", stall))
        llm.hung_up.clear()
        stream = served.client.stream("Count")
        task_id = (await anext(stream))["task"]["id"]
        await stall.reached.wait()
        assert state_of(await served.client.cancel(task_id)) == "CANCELED"
        await llm.hung_up.wait()
        assert [event async for event in stream]


async def by_http_and_json(served: Served, llm: LLMServer) -> None:
    client = served.client
    llm.script(calls(PARIS), text("Sunny."))
    task = await client.send("Paris?", offered(WEATHER))
    url, headers = f"{client.url}/rest", client.headers
    for _ in range(8):
        async with served.http.get(f"{url}/tasks/{task['id']}", headers=headers) as answer:
            assert state_of(await answer.json()) == "INPUT_REQUIRED"
    (call,) = calls_of(task)
    message = client.message(results(result(call["id"], "x")), taskId=task["id"])
    async with served.http.post(
        f"{url}/message:stream", json={"message": message}, headers=headers
    ) as answer:
        events = [event async for event in events_of(answer)]
    assert state_of({"status": events[-1]["statusUpdate"]["status"]}) == "COMPLETED"


async def a_device_is_reached(served: Served, llm: LLMServer) -> None:
    ota = f"{served.url}/xiaozhi/ota/"
    async with SimulatedDevice(DeviceConfig(ota_url=ota, mode="manual")) as device:
        url = f"{served.url}/a2a/devices/{device.config.device_id}"
        agent = Rpc(served.http, url)
        for _ in range(4):
            task = await agent.send({"data": {"skill": "speak", "text": "Dinner."}})
            assert (state_of(task), answer_of(task)) == ("COMPLETED", "Dinner.")


async def a_process_that_ends(served: Served, llm: LLMServer) -> None:
    """Its tasks are lost, and said to be; the others and new ones are served."""
    llm.script(calls(PARIS))
    task = await served.client.send("Paris?", offered(WEATHER))
    health = await served.health()
    (worker,) = (each for each in health["workers"] if each.get("a2a", {}).get("running"))
    os.kill(worker["pid"], signal.SIGKILL)
    async with asyncio.timeout(BOUND):
        while True:
            try:
                _, answer, _ = await served.client.post(
                    {
                        "jsonrpc": "2.0",
                        "id": 1,
                        "method": "GetTask",
                        "params": {"id": task["id"]},
                    }
                )
            except aiohttp.ClientError:
                continue  # the connection was one of the process that ended
            if answer.get("error", {}).get("code") == -32001:
                break
            await asyncio.sleep(0.05)
    await served.until_ready()
    llm.script(text("Fine."))
    again = await served.client.send("Hello", contextId=task["contextId"])
    assert answer_of(again) == "Fine."
