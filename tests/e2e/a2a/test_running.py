"""Tasks and streams of a caller at a time are limited, however its messages come."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from tests.e2e.a2a.support import PARIS, VERSIONS, gateway
from tests.support.a2a_client import (
    OTHER,
    WEATHER,
    RpcError,
    answer_of,
    calls_of,
    offered,
    result,
    results,
    rpc,
    state_of,
)
from tests.support.llm_server import Call, LLMServer, Stall, calls, text
from tests.support.waiting import until


async def test_running_tasks_and_streams_are_limited() -> None:
    stall = Stall()
    limits = {"max_running": 2, "max_streams": 1}
    async with (
        LLMServer() as llm,
        gateway(llm, a2a=limits) as server,
        rpc(server.http_url) as client,
        rpc(server.http_url, token=OTHER) as other,
    ):
        llm.script(text("One, ", stall, "two."), calls(PARIS), text("Fine."), text("Sunny."))
        stream = client.stream("Count")
        await anext(stream)
        await stall.reached.wait()
        waiting = await client.send("Paris?", offered(WEATHER))
        body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage"}
        params = {"message": client.message("Hello")}
        status, answer, headers = await client.post({**body, "params": params})
        assert (status, answer["error"]["code"]) == (429, -32000)
        assert headers["Retry-After"] == "1"
        with pytest.raises(RpcError, match="streams"):
            await anext(client.subscribe(waiting["id"]))
        assert answer_of(await other.send("Hello")) == "Fine."
        # The answer to a call is no further task.
        (call,) = calls_of(waiting)
        done = await client.send(results(result(call["id"], "x")), taskId=waiting["id"])
        assert state_of(done) == "COMPLETED"
        stall.go.set()
        async for _ in stream:
            pass
        await until(lambda: server.app.health()["a2a"]["streams"] == 0)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_stream_over_the_limit_begins_no_task(version: str) -> None:
    stall = Stall()
    async with (
        LLMServer() as llm,
        gateway(llm, a2a={"max_streams": 1}) as server,
        rpc(server.http_url, version) as client,
        aiohttp.ClientSession(headers=client.headers) as http,
    ):
        llm.script(text("One, ", stall, "two."), text("Fine."))
        stream = client.stream("Count")
        await anext(stream)
        await stall.reached.wait()
        with pytest.raises(RpcError, match="streams"):
            await anext(client.stream("Again"))
        body = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Again"}]}}
        rest = f"{server.http_url}/a2a/rest/message:stream"
        async with http.post(rest, json=body, headers={"A2A-Version": "1.0"}) as answer:
            assert answer.status == 429
        health = server.app.health()["a2a"]
        assert (health["tasks"], health["running"], health["streams"]) == (1, 1, 1)
        stall.go.set()
        async for _ in stream:
            pass
        await until(lambda: server.app.health()["a2a"]["streams"] == 0)
        # A stream that was refused for another reason is not counted either.
        for _ in range(2):
            with pytest.raises(RpcError, match="found"):
                await anext(client.subscribe("nothing"))
        async for _ in client.stream("Again"):
            pass
        assert len(llm.requests) == 2


async def test_messages_of_one_moment_are_limited() -> None:
    """All of them are admitted before the first begins; the last ones fail."""
    stall = Stall()
    async with (
        LLMServer() as llm,
        gateway(llm, a2a={"max_running": 1}) as server,
        rpc(server.http_url) as client,
    ):
        llm.script(text("One, ", stall, "two."))
        sent = [asyncio.create_task(client.send("Count")) for _ in range(5)]
        await stall.reached.wait()
        await until(lambda: sum(each.done() for each in sent) == 4)
        assert server.app.health()["a2a"]["running"] == 1
        stall.go.set()
        found = await asyncio.gather(*sent, return_exceptions=True)
        states = [state_of(each) for each in found if isinstance(each, dict)]
        assert states.count("COMPLETED") == 1
        assert set(states) <= {"COMPLETED", "FAILED"}
        assert len(llm.requests) == 1


async def test_an_answer_to_a_question_begins_a_task_as_well() -> None:
    stall = Stall()
    async with (
        LLMServer() as llm,
        gateway(llm, tools={"confirm": ["builtin/get_time"]}, a2a={"max_running": 1}) as server,
        rpc(server.http_url) as client,
    ):
        ask = Call("c1", "get_time", "{}")
        llm.script(calls(ask), text("Shall I look?"), text("One, ", stall, "two."))
        task = await client.send("What time is it?")
        assert state_of(task) == "INPUT_REQUIRED"
        other = asyncio.create_task(client.send("Count"))
        await stall.reached.wait()
        with pytest.raises(RpcError, match="1 at most"):
            await client.send("yes", taskId=task["id"])
        stall.go.set()
        assert answer_of(await other) == "One, two."
        llm.script(calls(ask), text("It is noon."))
        done = await client.send("yes", taskId=task["id"])
        assert answer_of(done).endswith("It is noon.")
