"""Streams, resubscription and cancellation, in both versions."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from tests.e2e.a2a.support import PARIS, VERSIONS, gateway
from tests.support.a2a_client import (
    WEATHER,
    JsonObject,
    RpcError,
    answer_of,
    as_1_0,
    calls_of,
    events_of,
    offered,
    result,
    results,
    rpc,
    state_of,
)
from tests.support.llm_server import LLMServer, Stall, calls, text
from tests.support.waiting import until


def told(event: JsonObject) -> tuple[str, Any]:
    """Return what an event of either version says: its kind and its content."""
    if "task" in event or event.get("kind") == "task":
        return "task", event.get("task", event)
    if "artifactUpdate" in event or event.get("kind") == "artifact-update":
        update = event.get("artifactUpdate", event)
        return "text", "".join(part["text"] for part in update["artifact"]["parts"])
    update = event.get("statusUpdate", event)
    state = update["status"]["state"].removeprefix("TASK_STATE_").upper().replace("-", "_")
    return "state", (state, update.get("final"))


@pytest.mark.parametrize("version", VERSIONS)
async def test_words_come_as_they_are_written(version: str) -> None:
    stall = Stall()
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url, version) as client:
        llm.script(text("One, ", stall, "two, ", "three."))
        seen: list[tuple[str, Any]] = []
        async for event in client.stream("Count"):
            seen.append(told(event))
            if seen[-1] == ("text", "One, "):
                assert stall.reached.is_set()
                stall.go.set()
        kinds = [kind for kind, _ in seen]
        assert kinds[0] == "task"
        assert kinds[-1] == "state"
        assert seen[-1][1] == ("COMPLETED", True if version == "0.3" else None)
        assert "".join(words for kind, words in seen if kind == "text") == "One, two, three."
        assert kinds.count("text") >= 2
        task = await client.get(seen[0][1]["id"])
        assert answer_of(task) == "One, two, three."
        assert len(task["artifacts"][0]["parts"]) == 1


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_stream_ends_where_the_caller_is_asked(version: str) -> None:
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url, version) as client:
        llm.script(calls(PARIS, saying="Let me look. "), text("Sunny."))
        seen = [told(event) async for event in client.stream("Paris?", offered(WEATHER))]
        task_id = seen[0][1]["id"]
        assert seen[-1] == ("state", ("INPUT_REQUIRED", True if version == "0.3" else None))
        (call,) = calls_of(await client.get(task_id))
        part = results(result(call["id"], "clear"))
        more = [told(event) async for event in client.stream(part, taskId=task_id)]
        kind, begun = more[0]
        assert (kind, state_of(as_1_0(begun)), begun.get("artifacts", [])) == (
            "task",
            "WORKING",
            [],
        )
        assert [value for kind, value in more if kind == "text"] == ["Sunny."]
        assert more[-1][1][0] == "COMPLETED"


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_task_outlives_its_client_and_is_subscribed_again(version: str) -> None:
    stall = Stall()
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url, version) as client:
        llm.script(text("One, ", stall, "two."))
        stream = client.stream("Count")
        task_id = told(await anext(stream))[1]["id"]
        await stream.aclose()
        await stall.reached.wait()
        seen: list[tuple[str, Any]] = []
        async for event in client.subscribe(task_id):
            seen.append(told(event))
            stall.go.set()
        assert (seen[0][0], seen[0][1]["id"]) == ("task", task_id)
        assert seen[-1][1][0] == "COMPLETED"
        assert answer_of(await client.get(task_id)) == "One, two."
        with pytest.raises(RpcError):  # it is over
            await anext(client.subscribe(task_id))


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_running_task_is_cancelled(version: str) -> None:
    stall = Stall()
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url, version) as client:
        llm.script(text("One, ", stall), text("Fine."))
        asked = asyncio.create_task(client.send("Count", contextId="mine"))
        await stall.reached.wait()
        tasks = server.app.a2a
        assert tasks is not None
        async with rpc(server.http_url) as other:
            listed = await other.call("ListTasks", {"contextId": "mine"})
        (task,) = listed["tasks"]
        assert state_of(await client.cancel(task["id"])) == "CANCELED"
        assert state_of(await asked) == "CANCELED"
        await llm.hung_up.wait()
        assert answer_of(await client.send("Again", contextId="mine")) == "Fine."
        with pytest.raises(RpcError):
            await client.cancel(task["id"])


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_task_that_waits_for_its_caller_is_cancelled(version: str) -> None:
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url, version) as client:
        llm.script(calls(PARIS), text("Fine."))
        task = await client.send("Paris?", offered(WEATHER))
        assert state_of(await client.cancel(task["id"])) == "CANCELED"
        (call,) = calls_of(task)
        with pytest.raises(RpcError):
            await client.send(results(result(call["id"], "x")), taskId=task["id"])
        assert answer_of(await client.send("Go on", contextId=task["contextId"])) == "Fine."
        assert server.app.health()["a2a"]["running"] == 0


async def test_a_question_is_withdrawn_with_its_task() -> None:
    async with (
        LLMServer() as llm,
        gateway(llm, tools={"confirm": ["client/get_weather"]}) as server,
        rpc(server.http_url) as client,
    ):
        llm.script(calls(PARIS), text("Shall I?"), calls(PARIS), text("Shall I?"))
        task = await client.send("Paris?", offered(WEATHER))
        assert state_of(await client.cancel(task["id"])) == "CANCELED"
        again = await client.send("yes", contextId=task["contextId"])
        assert again["id"] != task["id"]
        assert calls_of(again) == []


async def test_http_and_json() -> None:
    async with (
        LLMServer() as llm,
        gateway(llm) as server,
        rpc(server.http_url) as client,
        aiohttp.ClientSession(headers=client.headers) as http,
    ):
        url = f"{server.http_url}/a2a/rest"
        llm.script(calls(PARIS), text("Sunny."), text("One."))
        body = {"message": client.message("Paris?", offered(WEATHER))}
        async with http.post(f"{url}/message:send", json=body) as answer:
            assert answer.status == 200
            task = (await answer.json())["task"]
        (call,) = calls_of(task)
        part = results(result(call["id"], "clear"))
        body = {"message": client.message(part, taskId=task["id"])}
        async with http.post(f"{url}/message:stream", json=body) as answer:
            seen = [told(event) async for event in events_of(answer)]
        assert seen[-1] == ("state", ("COMPLETED", None))
        async with http.get(f"{url}/tasks/{task['id']}") as answer:
            assert answer_of(await answer.json()) == "Sunny."
        async with http.get(f"{url}/tasks", params={"contextId": task["contextId"]}) as answer:
            assert [each["id"] for each in (await answer.json())["tasks"]] == [task["id"]]
        async with http.post(f"{url}/tasks/{task['id']}:cancel") as answer:
            assert answer.status == 400
        async with http.get(f"{url}/tasks/nothing") as answer:
            assert answer.status == 404
        async with http.post(f"{url}/message:send", json={"message": {"parts": 5}}) as answer:
            assert answer.status == 400
            assert (await answer.json())["error"]["status"] == "INVALID_ARGUMENT"


async def test_streams_end_with_the_server() -> None:
    stall = Stall()
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        llm.script(text("One, ", stall))
        stream = client.stream("Count")
        await anext(stream)
        await stall.reached.wait()
        rest = asyncio.create_task(collected(stream))
        await until(lambda: server.app.health()["a2a"]["streams"] == 1)
        await server.app.stop()
        assert told((await rest)[-1])[1][0] == "FAILED"


async def collected(stream: Any) -> list[JsonObject]:  # noqa: ANN401 - a stream of events
    return [event async for event in stream]
