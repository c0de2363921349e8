"""What clients leave out is completed; what is wrong is said without a library's text."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest

from tests.e2e.a2a.support import PARIS, VERSIONS, gateway
from tests.support.a2a_client import (
    WEATHER,
    JsonObject,
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
from tests.support.llm_server import LLMServer, calls, text

HELLO: JsonObject = {"messageId": "m", "role": "user", "parts": [{"text": "Hello"}]}


def without(*names: str) -> JsonObject:
    return {name: value for name, value in HELLO.items() if name not in names}


TAKEN: dict[str, JsonObject] = {
    "a bare message": HELLO,
    "a bare message without an id": without("messageId"),
    "no id": {"message": without("messageId")},
    "an empty id": {"message": {**HELLO, "messageId": ""}},
    "null as an id": {"message": {**HELLO, "messageId": None}},
    "no role": {"message": without("role")},
    "the role of 0.3": {"message": HELLO},
    "the role of 1.0": {"message": {**HELLO, "role": "ROLE_USER"}},
    "parts with a kind": {"message": {**HELLO, "parts": [{"kind": "text", "text": "Hello"}]}},
    "a kind of its own": {"message": {**HELLO, "kind": "message"}},
    "nothing but parts": {"parts": [{"text": "Hello"}]},
}


@pytest.mark.parametrize("version", VERSIONS)
async def test_what_clients_leave_out(version: str) -> None:
    """By JSON-RPC, at once and streamed."""
    send, stream = ("message/send", "message/stream")
    if version == "1.0":
        send, stream = "SendMessage", "SendStreamingMessage"
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url, version) as client:
        llm.script(*(text("Fine.") for _ in range(2 * len(TAKEN))))
        for name, params in TAKEN.items():
            found = await client.call(send, params)
            task = as_1_0(found.get("task", found))
            assert (state_of(task), answer_of(task)) == ("COMPLETED", "Fine."), name
            assert task["history"][0]["messageId"], name
            assert [event async for event in client.events(stream, params)], name
        assert len(llm.requests) == 2 * len(TAKEN)


async def test_what_clients_leave_out_by_http() -> None:
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        url = f"{server.http_url}/a2a/rest/message:send"
        async with aiohttp.ClientSession(headers=client.headers) as http:
            for name, body in TAKEN.items():
                llm.script(text("Fine."))
                async with http.post(url, json=body) as answer:
                    found = await answer.json(content_type=None)
                    assert (answer.status, answer_of(found["task"])) == (200, "Fine."), name


async def test_results_by_their_calls_need_no_other_id() -> None:
    """Two tasks that wait for the same tool are told apart by the calls."""
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        llm.script(calls(PARIS), calls(PARIS), text("One."), text("Two."))
        first, second = [await client.send("Paris?", offered(WEATHER)) for _ in range(2)]
        for task, said in ((second, "One."), (first, "Two.")):
            (call,) = calls_of(task)
            done = await client.send(results(result(call["id"], "16 °C")))
            assert (done["id"], answer_of(done)) == (task["id"], said)


async def test_a_data_part_may_name_the_tool_alone() -> None:
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        llm.script(calls(PARIS), text("Fine."))
        await client.send("Paris?", offered(WEATHER))
        done = await client.send(results({"name": "get_weather", "content": "16 °C"}))
        assert answer_of(done) == "Fine."


LIBRARY = ("pydantic", "ailed to parse", "alidation", "input_value", "Struct", "Field", "base 10")
"""What texts of protobuf, pydantic and the A2A library contain."""

WRONG_PARAMS: dict[str, Any] = {
    "an odd role": {"message": {**HELLO, "role": "assistant"}},
    "odd references": {"message": {**HELLO, "referenceTaskIds": 5}},
    "odd extensions": {"message": {**HELLO, "extensions": "x"}},
    "odd metadata": {"message": {**HELLO, "metadata": 5}},
    "an odd configuration": {"message": HELLO, "configuration": 5},
    "an odd length": {"message": HELLO, "configuration": {"historyLength": "a secret"}},
    "a string for a flag": {"message": HELLO, "configuration": {"blocking": {}}},
}

TASKS = {
    "1.0": ("GetTask", "CancelTask", "SubscribeToTask", "GetTaskPushNotificationConfig"),
    "0.3": ("tasks/get", "tasks/cancel", "tasks/resubscribe", "tasks/pushNotificationConfig/get"),
}


@pytest.mark.parametrize("version", VERSIONS)
async def test_errors_have_no_text_of_a_library(version: str) -> None:
    send, stream = ("message/send", "message/stream")
    if version == "1.0":
        send, stream = "SendMessage", "SendStreamingMessage"
    cases: list[tuple[str, str, Any]] = [
        (f"{name}, {method}", method, params)
        for name, params in WRONG_PARAMS.items()
        for method in (send, stream)
    ]
    for method in TASKS[version]:
        odd: list[Any] = [{}, {"id": 5}, {"id": "a secret"}, 5, [], None]
        cases += [(f"{method} {params}", method, params) for params in odd]
    cases += [("a page", "ListTasks", {"pageSize": "a secret"}), ("a method", "nothing", {})]
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url, version) as client:
        llm.script(*(text("Fine.") for _ in cases))
        for name, method, params in cases:
            error = await error_of(client.url, client.headers, method, params)
            if error is None:  # the version knows no such parameter
                assert name.startswith("a string for a flag"), name
                continue
            told = json.dumps(error)
            assert not [each for each in (*LIBRARY, "a secret") if each in told], (name, told)
            assert error["code"] < -32000, name
            assert error["message"].isprintable(), name


async def error_of(
    url: str, headers: dict[str, str], method: str, params: object
) -> JsonObject | None:
    """Return the error with which a request ends, in its answer or its stream."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    async with (
        aiohttp.ClientSession(headers=headers) as http,
        http.post(url, json=body) as answer,
    ):
        if "event-stream" not in answer.headers["Content-Type"]:
            return (await answer.json()).get("error")  # type: ignore[no-any-return]
        found = [event async for event in events_of(answer)]
    return next((event["error"] for event in found if "error" in event), None)


async def test_errors_by_http_have_no_text_of_a_library() -> None:
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        base = f"{server.http_url}/a2a/rest"
        async with aiohttp.ClientSession(headers=client.headers) as http:
            for method, path, body in (
                *(("POST", "/message:send", params) for params in WRONG_PARAMS.values()),
                *(("POST", "/message:stream", params) for params in WRONG_PARAMS.values()),
                ("POST", "/message:send", {"message": 5}),
                ("GET", "/tasks?pageSize=secret", None),
                ("GET", "/tasks?pageToken=secret", None),
                ("GET", "/tasks/secret", None),
                ("POST", "/tasks/secret:cancel", {}),
                ("GET", "/tasks/secret:subscribe", None),
                ("GET", "/extendedAgentCard", None),
                ("POST", "/tasks/x/pushNotificationConfigs", {"url": 5}),
            ):
                llm.script(text("Fine."))
                async with http.request(method, base + path, json=body) as answer:
                    told = await answer.text()
                if answer.status == 200:
                    assert body == WRONG_PARAMS["a string for a flag"], path
                    continue
                assert not [each for each in (*LIBRARY, "secret") if each in told], (path, told)


async def test_a_schema_that_is_none_is_said_without_a_library() -> None:
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        odd = {"name": "t", "parameters": {"type": "object", "properties": {"a": {"type": 5}}}}
        message = client.message("Hello", offered({"type": "function", "function": odd}))
        error = await error_of(client.url, client.headers, "SendMessage", {"message": message})
        assert error is not None
        expected = "the parameters of t are not a JSON Schema, or one too complex to check"
        assert (error["code"], error["message"]) == (-32602, expected)
