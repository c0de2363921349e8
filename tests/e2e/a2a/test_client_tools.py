"""Tools that the caller brings along: offered, called, answered, in both versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.a2a.support import PARIS, ROME, VERSIONS, gateway
from tests.support.a2a_client import (
    EXTENSION,
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
    words_of,
)
from tests.support.llm_server import Call, LLMServer, calls, text
from tests.support.model_turns import outputs
from tests.support.waiting import until


def names(request: dict[str, Any]) -> list[str]:
    """Return the tools of a model call that are the caller's."""
    listed = [each["function"]["name"] for each in request.get("tools", ())]
    return [name for name in listed if "weather" in name or "tool" in name]


def tool(name: str, **properties: object) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties}
    function = {"name": name, "description": "A tool.", "parameters": parameters}
    return {"type": "function", "function": function}


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_call_and_its_result(version: str) -> None:
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url, version) as client:
        llm.script(calls(PARIS, saying="Let me look. "), text("It is sunny."))
        task = await client.send("Weather in Paris?", offered(WEATHER))
        assert state_of(task) == "INPUT_REQUIRED"
        (call,) = calls_of(task)
        assert (call["name"], call["type"]) == ("get_weather", "tool_call")
        assert call["args"] == json.loads(call["arguments"]) == {"city": "Paris"}
        assert words_of(task)
        done = await client.send(results(result(call["id"], {"sky": "clear"})), taskId=task["id"])
        assert (done["id"], state_of(done)) == (task["id"], "COMPLETED")
        assert answer_of(done) == "Let me look. It is sunny."
        assert names(llm.requests[0]) == ["get_weather"]
        assert outputs(llm, 1) == ['{"sky": "clear"}']
        assert server.count("tool.client.calls") == 1
        assert server.count("a2a.calls") == 1


@pytest.mark.parametrize("version", VERSIONS)
async def test_parallel_calls_come_in_one_state(version: str) -> None:
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url, version) as client:
        llm.script(calls(PARIS, ROME), text("Both are sunny."))
        task = await client.send("Paris and Rome?", offered(WEATHER))
        made = {each["args"]["city"]: each["id"] for each in calls_of(task)}
        assert set(made) == {"Paris", "Rome"}
        found = results(result(made["Rome"], "18 °C"), result(made["Paris"], "16 °C"))
        done = await client.send(found, taskId=task["id"])
        assert answer_of(done) == "Both are sunny."
        assert outputs(llm, 1) == ["16 °C", "18 °C"]


async def test_results_one_by_one() -> None:
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        llm.script(calls(PARIS, ROME), text("Both are sunny."))
        task = await client.send("Paris and Rome?", offered(WEATHER))
        first, second = calls_of(task)
        task = await client.send(results(result(second["id"], "b")), taskId=task["id"])
        assert state_of(task) == "INPUT_REQUIRED"
        assert [each["id"] for each in calls_of(task)] == [first["id"]]
        task = await client.send(results(result(first["id"], "a")), taskId=task["id"])
        assert state_of(task) == "COMPLETED"
        assert outputs(llm, 1) == ["a", "b"]


@pytest.mark.parametrize("version", VERSIONS)
async def test_words_answer_all_calls_of_the_context(version: str) -> None:
    """By the context alone; words that name a tool are another matter (test_document.py)."""
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url, version) as client:
        llm.script(calls(PARIS, ROME), text("Fine."))
        task = await client.send("Paris and Rome?", offered(WEATHER))
        said = "It is sunny there."
        done = await client.send(said, offered(WEATHER), contextId=task["contextId"])
        assert (done["id"], state_of(done), answer_of(done)) == (task["id"], "COMPLETED", "Fine.")
        assert outputs(llm, 1) == [said, said]


async def test_the_form_of_the_documents_project() -> None:
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        llm.script(calls(PARIS), text("Fine."))
        task = await client.send("Paris?", {"data": {"tools": [WEATHER]}})
        (call,) = calls_of(task)
        part = {
            "data": {"toolMessages": [{"tool_call_id": call["id"], "content": "16 °C"}]},
            "metadata": {"type": "tool-messages"},
        }
        assert answer_of(await client.send(part, taskId=task["id"])) == "Fine."
        assert outputs(llm, 1) == ["16 °C"]


async def test_an_error_is_a_result() -> None:
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        llm.script(calls(PARIS), text("It did not work."))
        task = await client.send("Paris?", offered(WEATHER))
        (call,) = calls_of(task)
        failed = results(result(call["id"], "no such city", "error"))
        assert state_of(await client.send(failed, taskId=task["id"])) == "COMPLETED"
        assert json.loads(outputs(llm, 1)[0])["error"]["message"] == "no such city"


async def test_wrong_arguments_never_reach_the_caller() -> None:
    """The model corrects them; the good call beside is made all the same."""
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        llm.script(calls(Call("c0", "get_weather", '{"city": 5}'), PARIS), text("Fine."))
        task = await client.send("Paris?", offered(WEATHER))
        (call,) = calls_of(task)
        assert call["args"] == {"city": "Paris"}
        await client.send(results(result(call["id"], "16 °C")), taskId=task["id"])
        wrong, right = outputs(llm, 1)
        assert "invalid_arguments" in wrong
        assert right == "16 °C"


async def test_the_next_offer_replaces_the_one_before() -> None:
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        llm.script(*(text("Fine.") for _ in range(4)))
        task = await client.send("One", offered(tool("tool_a"), tool("tool_b")))
        context = task["contextId"]
        await client.send("Two", contextId=context)
        await client.send("Three", offered(tool("tool_c")), contextId=context)
        await client.send("Four", offered(), contextId=context)
        offers = [names(request) for request in llm.requests]
        assert offers == [["tool_a", "tool_b"], ["tool_a", "tool_b"], ["tool_c"], []]


async def test_an_offer_beside_a_result_holds_for_the_next_model_call() -> None:
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        llm.script(calls(PARIS), text("Fine."))
        task = await client.send("Paris?", offered(WEATHER))
        (call,) = calls_of(task)
        part = results(result(call["id"], "16 °C"))
        await client.send(part, offered(tool("tool_c")), taskId=task["id"])
        assert names(llm.requests[1]) == ["tool_c"]


async def test_an_offer_alone_has_no_answer() -> None:
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        task = await client.send(offered(WEATHER))
        assert (state_of(task), answer_of(task)) == ("COMPLETED", "")
        llm.script(text("Fine."))
        await client.send("Go on", contextId=task["contextId"])
        assert names(llm.requests[0]) == ["get_weather"]


async def test_a_result_that_never_comes() -> None:
    """The model reads a time-out, and the task ends with its words."""
    async with (
        LLMServer() as llm,
        gateway(llm, a2a={"result_timeout": 2}) as server,
        rpc(server.http_url) as client,
    ):
        llm.script(calls(PARIS), text("Nothing came."))
        task = await client.send("Paris?", offered(WEATHER))
        (call,) = calls_of(task)
        await until(lambda: len(llm.requests) == 2)
        assert "timeout" in outputs(llm, 1)[0]
        await until(lambda: server.count("a2a.tasks.answered"))
        done = await client.get(task["id"])
        while state_of(done) != "COMPLETED":
            done = await client.get(task["id"])
        assert answer_of(done) == "Nothing came."
        with pytest.raises(RpcError):  # too late
            await client.send(results(result(call["id"], "16 °C")), taskId=task["id"])


async def test_a_result_that_nobody_waits_for() -> None:
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        llm.script(calls(PARIS), text("Fine."), text("And more."))
        with pytest.raises(RpcError) as caught:
            await client.send(results(result("call_1", "x")))
        assert caught.value.code == -32602
        task = await client.send("Paris?", offered(WEATHER))
        (call,) = calls_of(task)
        again = await client.send(results(result("call_unknown", "x")), taskId=task["id"])
        assert state_of(again) == "INPUT_REQUIRED"
        assert [each["id"] for each in calls_of(again)] == [call["id"]]
        done = await client.send(
            results(result("call_unknown", "x"), result(call["id"], "16 °C")), taskId=task["id"]
        )
        assert answer_of(done) == "Fine."
        assert server.count("a2a.results.unknown") == 3
        # Beside words it is left aside: the words are the message.
        more = await client.send(
            "And?", results(result(call["id"], "x")), contextId=task["contextId"]
        )
        assert answer_of(more) == "And more."


async def test_numbers_and_keys_survive() -> None:
    big = 2**63 + 1
    written = f'{{"z": 5, "a": {big}, "half": 0.5, "nested": {{"y": 1, "x": [5]}}}}'
    schema = {"zeta": {"type": "integer", "maximum": 5.0}, "alpha": {"type": "number"}}
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        llm.script(calls(Call("c1", "tool_a", written)), text("Fine."))
        task = await client.send("Go", offered(tool("tool_a", **schema)))
        (call,) = calls_of(task)
        assert call["arguments"] == written
        content = json.loads(f'{{"b": 5, "a": {big}, "c": 5.0, "d": [1.5, {{"k": 2, "b": 1}}]}}')
        await client.send(results(result(call["id"], content)), taskId=task["id"])
        expected = f'{{"b": 5, "a": {big}, "c": 5, "d": [1.5, {{"k": 2, "b": 1}}]}}'
        assert outputs(llm, 1) == [expected]
        (sent,) = (each for each in llm.requests[0]["tools"] if names({"tools": [each]}))
        parameters = sent["function"]["parameters"]
        assert json.dumps(parameters["properties"]) == (
            '{"alpha": {"type": "number"}, "zeta": {"maximum": 5, "type": "integer"}}'
        )


async def test_equal_offers_make_equal_prompts() -> None:
    def scrambled(first: str, second: str) -> dict[str, Any]:
        return tool("tool_a", **{first: {"type": "string"}, second: {"type": "string"}})

    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        llm.script(text("One."), text("Two."))
        task = await client.send("One", offered(scrambled("a", "b")))
        await client.send("Two", offered(scrambled("b", "a")), contextId=task["contextId"])
        one, two = (json.dumps(request["tools"]) for request in llm.requests)
        assert one == two


async def test_policies_and_names() -> None:
    hidden = {"deny": ["client/hidden_*"]}
    same = tool("get_time")
    odd = tool("weather tool/Paris!")
    async with (
        LLMServer() as llm,
        gateway(llm, tools=hidden) as server,
        rpc(server.http_url) as client,
    ):
        llm.script(calls(Call("c1", "weather_tool_Paris_", "{}")), text("Fine."))
        task = await client.send("Go", offered(tool("hidden_tool"), same, odd))
        listed = [each["function"]["name"] for each in llm.requests[0]["tools"]]
        assert "hidden_tool" not in listed
        assert {"get_time", "client_get_time", "weather_tool_Paris_"} <= set(listed)
        (call,) = calls_of(task)
        assert call["name"] == "weather tool/Paris!"


async def test_the_users_yes_in_words() -> None:
    async with (
        LLMServer() as llm,
        gateway(llm, tools={"confirm": ["client/get_weather"]}) as server,
        rpc(server.http_url) as client,
    ):
        llm.script(calls(PARIS), text("Shall I look?"), calls(PARIS), text("It is sunny."))
        task = await client.send("Paris?", offered(WEATHER))
        assert (state_of(task), calls_of(task)) == ("INPUT_REQUIRED", [])
        assert words_of(task) == "Shall I look?"
        task = await client.send("yes", contextId=task["contextId"])
        (call,) = calls_of(task)
        done = await client.send(results(result(call["id"], "sunny")), taskId=task["id"])
        assert state_of(done) == "COMPLETED"
        assert answer_of(done).endswith("It is sunny.")


async def test_the_extension_is_in_the_card_and_echoed() -> None:
    async with LLMServer() as llm, gateway(llm) as server, rpc(server.http_url) as client:
        llm.script(text("Fine."), text("Fine."))
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "SendMessage",
            "params": {"message": client.message("Hello")},
        }
        _, _, headers = await client.post(body, **{"A2A-Extensions": f"urn:x, {EXTENSION}"})
        assert headers["A2A-Extensions"] == EXTENSION
        _, _, headers = await client.post(body)
        assert "A2A-Extensions" not in headers


async def test_an_offer_alone_leaves_a_question_open() -> None:
    async with (
        LLMServer() as llm,
        gateway(llm, tools={"confirm": ["builtin/get_time"]}) as server,
        rpc(server.http_url) as client,
    ):
        ask = Call("c1", "get_time", "{}")
        llm.script(calls(ask), text("Shall I look?"), calls(ask), text("It is noon."))
        task = await client.send("What time is it?")
        again = await client.send(offered(WEATHER), contextId=task["contextId"])
        assert (again["id"], state_of(again)) == (task["id"], "INPUT_REQUIRED")
        done = await client.send("yes", contextId=task["contextId"])
        assert (done["id"], state_of(done)) == (task["id"], "COMPLETED")
        assert answer_of(done).endswith("It is noon.")
        assert "get_weather" in names(llm.requests[2])


async def test_a_yes_after_the_library_has_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vixio.web.a2a.gateway.RELEASE_MARGIN_S", 0.05)
    limits = {"result_timeout": 0.2}
    async with (
        LLMServer() as llm,
        gateway(llm, tools={"confirm": ["builtin/get_time"]}, a2a=limits) as server,
        rpc(server.http_url) as client,
    ):
        ask = Call("c1", "get_time", "{}")
        llm.script(calls(ask), text("Shall I look?"), calls(ask), text("It is noon."))
        task = await client.send("What time is it?")
        assert state_of(task) == "INPUT_REQUIRED"
        mount = server.app.a2a
        assert mount is not None
        assert mount._gateway is not None
        active = mount._gateway._handler._active_task_registry
        held = await active.get(task["id"])
        assert held is not None
        await until(lambda: held.is_finished)
        done = await client.send("yes", taskId=task["id"])
        assert state_of(done) == "COMPLETED"
        assert answer_of(done).endswith("It is noon.")


async def test_a_profile_of_callers(tmp_path: Path) -> None:
    """By the key of their contexts, as devices have one; and a memory, where one is configured."""
    sections: dict[str, Any] = {
        "devices": {
            "a2a/alice/*": {"user": "Ann", "tools": {"deny": ["builtin/*", "reminders/*"]}}
        },
        "assistant": {"instructions": "You talk with {user}."},
        "memory": {"store": "database", "summary": False},
        "data": {"folder": str(tmp_path), "database": ""},
        "a2a": {"context_lifetime": 1},
    }
    async with (
        LLMServer() as llm,
        gateway(llm, **sections) as server,
        rpc(server.http_url) as alice,
        rpc(server.http_url, token=OTHER) as bob,
    ):
        llm.script(text("One."), text("Two."), text("Three."))
        task = await alice.send("My bike is red")
        await bob.send("Hello")
        first, second = llm.requests
        assert first["messages"][0]["content"].startswith("You talk with Ann.")
        assert "tools" not in first
        assert "Ann" not in second["messages"][0]["content"]
        assert second["tools"]
        await until(lambda: server.app.health()["a2a"]["contexts"] == 0)
        await alice.send("What colour is it?", contextId=task["contextId"])
        assert "My bike is red" in json.dumps(llm.requests[2]["messages"])
