"""Whatever comes is answered by a protocol error and a counter; callers see their own only."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest

from tests.e2e.a2a.support import PARIS, gateway
from tests.support.a2a_client import (
    OTHER,
    TOKEN,
    WEATHER,
    JsonObject,
    RpcError,
    answer_of,
    calls_of,
    offered,
    result,
    results,
    rpc,
    state_of,
)
from tests.support.llm_server import Call, LLMServer, calls, failure, text
from tests.support.model_turns import outputs
from tests.support.waiting import until
from vixio.transports.admission.identity import Identity


@pytest.fixture(autouse=True)
def no_traceback(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.DEBUG)
    yield
    told = [record for record in caplog.records if record.exc_info and record.name != "asyncio"]
    assert told == []


def nested(depth: int) -> Any:  # noqa: ANN401 - any JSON value
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def rpc_body(message: JsonObject | str, method: str = "SendMessage") -> bytes:
    given = message if isinstance(message, str) else json.dumps(message)
    params = f'{{"message": {given}}}'
    return (f'{{"jsonrpc": "2.0", "id": "7", "method": "{method}", "params": {params}}}').encode()


def tools(number: int, **schema: object) -> list[JsonObject]:
    return [
        {"type": "function", "function": {"name": f"t{each}", "parameters": {**schema}}}
        for each in range(number)
    ]


def raw_data(data: str) -> str:
    return (
        f'{{"messageId": "m", "role": "ROLE_USER", "parts": [{{"text": "x"}}, {{"data": {data}}}]}}'
    )


BAD: dict[str, tuple[bytes, int]] = {
    "no JSON": (b"{", -32700),
    "no UTF-8": (b'{"a": "\xff"}', -32700),
    "nothing": (b"", -32700),
    "NaN": (rpc_body(raw_data('{"a": NaN}')), -32700),
    "Infinity": (rpc_body(raw_data('{"a": -Infinity}')), -32700),
    "a huge float": (rpc_body(raw_data('{"a": 1e999}')), -32700),
    "a huge integer": (rpc_body(raw_data(f'{{"a": 1{"0" * 400}}}')), -32700),
    "half a surrogate pair": (rpc_body(raw_data('{"a": "\\ud800"}')), -32700),
    "half a pair in a key": (rpc_body(raw_data('{"\\udc00": 1}')), -32700),
    "60 levels": (rpc_body(raw_data(json.dumps(nested(60)))), -32700),
    "100,000 levels": (rpc_body(raw_data("[" * 100_000 + "]" * 100_000)), -32700),
    "300,000 values": (rpc_body(raw_data(f"[{'0,' * 300_000}0]")), -32700),
    "a list": (b"[]", -32600),
    "a number": (b"5", -32600),
    "no method": (b'{"jsonrpc": "2.0", "id": 1}', -32600),
    "an odd method": (b'{"jsonrpc": "2.0", "id": 1, "method": 5}', -32600),
    "no version": (b'{"id": 1, "method": "SendMessage", "params": {}}', -32600),
    "another version": (b'{"jsonrpc": "1.0", "id": 1, "method": "SendMessage"}', -32600),
    "an odd id": (b'{"jsonrpc": "2.0", "id": [1], "method": "SendMessage"}', -32600),
    "a list as a method": (b'{"jsonrpc": "2.0", "id": 1, "method": []}', -32600),
    "another method": (b'{"jsonrpc": "2.0", "id": 1, "method": "x"}', -32601),
    "no params": (b'{"jsonrpc": "2.0", "id": 1, "method": "SendMessage"}', -32602),
    "odd params": (b'{"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": 5}', -32600),
    "no message": (rpc_body("null"), -32602),
    "no parts": (rpc_body({"messageId": "m", "role": "ROLE_USER", "parts": []}), -32602),
    "an odd part": (rpc_body({"messageId": "m", "parts": [5]}), -32602),
    "a file": (rpc_body({"messageId": "m", "parts": [{"url": "http://x"}]}), -32005),
    "an odd text": (rpc_body({"messageId": "m", "parts": [{"text": 5}]}), -32602),
    "100 parts": (rpc_body({"messageId": "m", "parts": [{"text": "x"}] * 100}), -32602),
    "a long text": (rpc_body({"messageId": "m", "parts": [{"text": "x" * 60_000}]}), -32602),
    "no text": (rpc_body({"messageId": "m", "parts": [{"text": " "}]}), -32602),
    "an odd context": (
        rpc_body({"messageId": "m", "contextId": 5, "parts": [{"text": "x"}]}),
        -32602,
    ),
    "a long task": (
        rpc_body({"messageId": "m", "taskId": "x" * 300, "parts": [{"text": "x"}]}),
        -32602,
    ),
    "10,000 tools": (rpc_body(raw_data(json.dumps({"tools": tools(10_000)}))), -32602),
    "a large schema": (
        rpc_body(raw_data(json.dumps({"tools": tools(1, description="x" * 30_000)}))),
        -32602,
    ),
    "no schema": (
        rpc_body(raw_data(json.dumps({"tools": tools(1, properties={"a": {"type": 5}})}))),
        -32602,
    ),
    "a tool twice": (rpc_body(raw_data(json.dumps({"tools": tools(1) * 2}))), -32602),
    "odd tools": (rpc_body(raw_data('{"tools": [5, null, {"type": "function"}]}')), -32602),
    "an odd name": (
        rpc_body(raw_data('{"tools": [{"type": "function", "function": {"name": ""}}]}')),
        -32602,
    ),
    "odd results": (rpc_body(raw_data('{"tool_results": 5}')), -32602),
    "a result without a call": (rpc_body(raw_data('{"tool_results": [{}]}')), -32602),
    "an odd status": (
        rpc_body(raw_data('{"tool_results": [{"tool_call_id": "x", "status": []}]}')),
        -32602,
    ),
}


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_what_is_wrong_is_a_protocol_error(version: str) -> None:
    """The server answers the next request; no model is asked, and no task is left."""
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url, version) as client:
        send = b'"message/send"' if version == "0.3" else b'"SendMessage"'
        for name, (made, code) in BAD.items():
            body = made.replace(b'"SendMessage"', send)
            status, answer, _ = await client.post(body)
            assert status == 200, name
            assert answer["error"]["code"] == code, (name, answer)
        assert llm.requests == []
        health = server.app.health()["a2a"]
        assert (health["tasks"], health["running"]) == (0, 0)
        assert server.count("a2a.refused.malformed") >= 10
        assert server.count("a2a.refused.invalid") >= 15
        llm.script(text("Fine."))
        assert answer_of(await client.send("Hello")) == "Fine."


async def test_a_body_that_is_too_large() -> None:
    async with (
        LLMServer() as llm,
        gateway(llm, a2a={"max_body_bytes": 50_000}) as server,
        rpc(server.http_url) as client,
    ):
        status, answer, _ = await client.post(rpc_body({"parts": [{"text": "x" * 60_000}]}))
        assert (status, answer["error"]["code"]) == (413, -32000)
        assert server.count("a2a.refused.too_large") == 1


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer x", f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", TOKEN],
)
async def test_without_a_token_nothing_is_answered(authorization: str) -> None:
    async with LLMServer() as llm, gateway(llm) as server, aiohttp.ClientSession() as http:
        headers = {"Authorization": authorization} if authorization else {}
        base = f"{server.http_url}/a2a"
        for method, path in (
            ("POST", ""),
            ("POST", "/"),
            ("POST", "/rest/message:send"),
            ("POST", "/rest/message:stream"),
            ("GET", "/rest/tasks"),
            ("GET", "/rest/tasks/x"),
            ("POST", "/rest/tasks/x:cancel"),
            ("GET", "/rest/tasks/x:subscribe"),
            ("GET", "/rest/extendedAgentCard"),
            ("GET", "/devices/x/.well-known/agent-card.json"),
            ("POST", "/devices/x"),
        ):
            async with http.request(method, base + path, headers=headers, json={}) as answer:
                assert answer.status == 401, path
                assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert llm.requests == []


async def test_a_caller_sees_nothing_of_another(caplog: pytest.LogCaptureFixture) -> None:
    async with (
        LLMServer() as llm,
        gateway(llm) as server,
        rpc(server.http_url) as alice,
        rpc(server.http_url, token=OTHER) as bob,
    ):
        llm.script(calls(PARIS), text("I know nothing of Paris."), text("It is sunny."))
        task = await alice.send("Is it sunny in Paris?", offered(WEATHER))
        (call,) = calls_of(task)
        found = results(result(call["id"], "stolen"))
        for request in (
            bob.get(task["id"]),
            bob.cancel(task["id"]),
            bob.send("Hello", taskId=task["id"]),
            bob.send(found, taskId=task["id"]),
            bob.send("Hello", taskId=task["id"], contextId=task["contextId"]),
            anext(bob.subscribe(task["id"])),
            # In the same context, by name: there are no calls that wait.
            bob.send(found, contextId=task["contextId"]),
        ):
            with pytest.raises(RpcError) as caught:
                await request
            assert caught.value.code in (-32001, -32602)
        listed = await bob.call("ListTasks", {"contextId": task["contextId"]})
        assert listed.get("tasks", []) == []
        # The same name is another context.
        own = await bob.send("What did I say?", contextId=task["contextId"])
        assert answer_of(own) == "I know nothing of Paris."
        asked = llm.requests[1]
        assert "get_weather" not in json.dumps(asked)
        assert "sunny" not in json.dumps(asked["messages"][1:])
        # And it was not disturbed.
        done = await alice.send(results(result(call["id"], "clear")), taskId=task["id"])
        assert answer_of(done) == "It is sunny."
        assert "clear" in json.dumps(llm.requests[2])
        assert "What did I say" not in json.dumps(llm.requests[2])
        said = "".join(record.getMessage() + str(vars(record)) for record in caplog.records)
        for secret in (TOKEN, OTHER, "sunny in Paris", "stolen"):
            ours = [r for r in caplog.records if r.name.startswith("vixio")]
            assert not any(secret in str(vars(record)) for record in ours)
        assert said


async def test_a_context_of_another_case_is_another_context() -> None:
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        llm.script(text("One."), text("Two."))
        await client.send("I am Ann", contextId="Mine")
        await client.send("Who am I", contextId="mine")
        assert "Ann" not in json.dumps(llm.requests[1]["messages"][1:])


async def test_no_device_can_take_a_context() -> None:
    assert Identity.stated("AA:BB:CC:DD:EE:FF", "", "").well_formed
    assert not Identity.stated(" A2A/alice/mine", "", "").well_formed


async def test_tasks_and_contexts_are_bounded() -> None:
    limits = {"max_contexts": 3, "max_tasks": 4}
    async with (
        LLMServer() as llm,
        gateway(llm, a2a=limits) as server,
        rpc(server.http_url) as client,
        rpc(server.http_url, token=OTHER) as other,
    ):
        llm.script(*(text("Fine.") for _ in range(12)))
        theirs = await other.send("Hello")
        made = [await client.send("Hello", contextId=f"c{number}") for number in range(5)]
        health = server.app.health()["a2a"]
        assert (health["contexts"], health["tasks"]) == (4, 4)
        assert server.count("a2a.contexts.evicted") == 2
        with pytest.raises(RpcError):
            await client.get(made[0]["id"])
        assert answer_of(await client.get(made[4]["id"])) == "Fine."
        made += [await client.send(f"Hello {each}", contextId="c4") for each in range(5)]
        assert server.app.health()["a2a"]["tasks"] <= 5
        with pytest.raises(RpcError):
            await client.get(made[4]["id"])
        assert answer_of(await client.get(made[-1]["id"])) == "Fine."
        assert answer_of(await other.get(theirs["id"])) == "Fine."


async def test_a_context_ends_when_it_is_not_used() -> None:
    async with (
        LLMServer() as llm,
        gateway(llm, a2a={"context_lifetime": 1}) as server,
        rpc(server.http_url) as client,
    ):
        llm.script(text("Fine."), text("Fine."))
        task = await client.send("I am Ann", contextId="mine")
        await until(lambda: server.app.health()["a2a"]["contexts"] == 0)
        with pytest.raises(RpcError):
            await client.get(task["id"])
        await client.send("Who am I", contextId="mine")
        assert "Ann" not in json.dumps(llm.requests[1]["messages"][1:])


async def test_requests_are_limited_by_caller() -> None:
    async with (
        LLMServer() as llm,
        gateway(llm, a2a={"requests_per_minute": 3}) as server,
        rpc(server.http_url) as client,
        rpc(server.http_url, token=OTHER) as other,
    ):
        seen = [(await client.post(b"{}"))[0] for _ in range(5)]
        assert seen == [200, 200, 200, 429, 429]
        assert (await other.post(b"{}"))[0] == 200
        assert server.count("a2a.refused.too_many") == 2


async def test_client_tools_can_be_turned_off() -> None:
    async with (
        LLMServer() as llm,
        gateway(llm, a2a={"client_tools": False}) as server,
        rpc(server.http_url) as client,
        aiohttp.ClientSession() as http,
    ):
        with pytest.raises(RpcError, match="takes no tools"):
            await client.send("Hello", offered(WEATHER))
        async with http.get(f"{server.http_url}/.well-known/agent-card.json") as answer:
            assert "extensions" not in (await answer.json())["capabilities"]


async def test_a_model_that_fails_costs_one_task() -> None:
    async with (
        LLMServer() as llm,
        gateway(llm, agent={"retries": 0}) as server,
        rpc(server.http_url) as client,
    ):
        llm.script(failure(401, "wrong key"), text("Fine."))
        task = await client.send("Hello")
        assert state_of(task) == "FAILED"
        assert "wrong key" not in json.dumps(task)
        again = await client.send("Hello", contextId=task["contextId"])
        assert answer_of(again) == "Fine."


async def test_many_at_once() -> None:
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        llm.script(*(text("Fine.") for _ in range(16)))
        done = await asyncio.gather(*(client.send("Hello") for _ in range(16)))
        assert {answer_of(task) for task in done} == {"Fine."}
        assert len({task["contextId"] for task in done}) == 16


async def test_half_a_surrogate_pair_of_the_model_is_mended() -> None:
    """What a model writes into arguments may be anything that JSON can say."""
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        llm.script(calls(Call("c1", "get_weather", '{"city": "\\ud800"}')), text("Fine."))
        task = await client.send("Paris?", offered(WEATHER))
        (call,) = calls_of(task)
        assert json.loads(call["arguments"]) == {"city": "\ufffd"}


async def test_a_number_of_the_model_that_is_out_of_range() -> None:
    """It is JSON, but infinite as a double: a task with it could not be read."""
    function = {"name": "tool_a", "parameters": {"properties": {"n": {"type": "number"}}}}
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        llm.script(calls(Call("c1", "tool_a", '{"n": 1e999}')), text("Fine."))
        task = await client.send("Go", offered({"type": "function", "function": function}))
        assert answer_of(task) == "Fine."
        (content,) = outputs(llm, 1)
        assert "invalid_arguments" in content


@pytest.mark.parametrize("params", [{"historyLength": -1}, {"statusTimestampAfter": "x"}])
async def test_odd_parameters_of_a_list(params: JsonObject) -> None:
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        with pytest.raises(RpcError) as caught:
            await client.call("ListTasks", params)
        assert caught.value.code == -32602


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_a_task_that_is_over_takes_no_message(version: str) -> None:
    """And nothing is left of the attempt."""

    def queues() -> int:
        loops = (task.get_coro() for task in asyncio.all_tasks())
        return sum("EventQueue" in getattr(each, "__qualname__", "") for each in loops)

    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url, version) as client:
        llm.script(text("Fine."))
        task = await client.send("Hello")
        await until(lambda: not queues())
        for _ in range(5):
            with pytest.raises(RpcError, match="the task is over"):
                await client.send("Hello", taskId=task["id"])
        assert not queues()
