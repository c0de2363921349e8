"""The calls of a device's tools, against a peer in memory."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.waiting import until
from tests.unit.transports.xiaozhi.mcp_peer import Peer, ready, tool
from vixio.core.tools.types import ImagePart, JsonObject, ToolCallResult
from vixio.transports.xiaozhi import device_tools
from vixio.transports.xiaozhi.device_tools import XiaozhiDeviceToolClient


async def test_a_call_and_its_answer() -> None:
    peer = await ready()
    peer.call = lambda params: {
        "result": {
            "content": [
                {"type": "text", "text": "a"},
                {"type": "image", "data": "aGk=", "mimeType": "image/jpeg"},
                {"type": "text", "text": "b"},
            ]
        }
    }
    result = await peer.client.call_tool("lamp", {"on": True, "name": "灯"})
    assert peer.requests[-1]["params"] == {"name": "lamp", "arguments": {"on": True, "name": "灯"}}
    assert (result.success, result.result) == (True, "a\nb")
    assert result.images == (ImagePart("aGk=", "image/jpeg"),)
    assert result.call_id == str(peer.requests[-1]["id"])


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        (
            {"result": {"content": [{"type": "text", "text": "hot"}], "isError": True}},
            "failed",
            "hot",
        ),
        ({"result": {"content": [], "isError": True}}, "failed", "the tool failed"),
        ({"error": {"message": "Unknown tool: lamp"}}, "not_found", "Unknown tool: lamp"),
        ({"error": {"message": {"odd": 1}}}, "failed", '{"odd": 1}'),
        ({"error": None}, "failed", "the device reported an error"),
        ({"result": None}, "failed", "the device answered with a malformed result"),
        ({"result": "true"}, "failed", "the device answered with a malformed result"),
    ],
)
async def test_a_failure_is_a_result(answer: JsonObject, kind: str, text: str) -> None:
    peer = await ready()
    peer.call = lambda params: answer
    result = await peer.client.call_tool("lamp", {})
    assert (result.success, result.error_type, result.error) == (False, kind, text)
    assert peer.counters.get(f"xiaozhi.mcp.call.{kind}") == 1


async def test_answers_may_come_in_any_order() -> None:
    peer = await ready()
    peer.call = lambda params: None
    calls = [asyncio.create_task(peer.client.call_tool("lamp", {"n": n})) for n in range(20)]
    await until(lambda: peer.methods().count("tools/call") == 20)
    sent = peer.requests[-20:]
    assert len({request["id"] for request in sent}) == 20
    for request in reversed(sent):
        text = str(request["params"]["arguments"]["n"])
        peer.answer(request["id"], {"result": {"content": [{"type": "text", "text": text}]}})
    results = await asyncio.gather(*calls)
    assert [result.result for result in results] == [str(n) for n in range(20)]


async def test_a_call_times_out_and_its_late_answer_is_dropped() -> None:
    peer = await ready()
    peer.call = lambda params: None
    result = await peer.client.call_tool("lamp", {}, timeout=0.02)
    assert (result.success, result.error_type, result.retryable) == (False, "timeout", True)
    late = peer.requests[-1]["id"]
    waiting = asyncio.create_task(peer.client.call_tool("lamp", {}))
    await until(lambda: peer.methods().count("tools/call") == 2)
    assert peer.requests[-1]["id"] != late
    peer.answer(late, {"result": {"content": [{"type": "text", "text": "late"}]}})
    assert peer.counters.get("xiaozhi.mcp.late_answer") == 1
    peer.answer(peer.requests[-1]["id"], {"result": {"content": [{"type": "text", "text": "now"}]}})
    assert (await waiting).result == "now"


async def test_the_default_timeout_is_the_constructors() -> None:
    peer = await ready(timeout=0.02)
    peer.call = lambda params: None
    assert (await peer.client.call_tool("lamp", {})).error_type == "timeout"


@pytest.mark.parametrize("id_", [999, "4", True, None, [1], {}, 4.5, float("inf")])
async def test_unknown_ids_are_dropped(id_: object) -> None:
    peer = await ready()
    peer.call = lambda params: None
    waiting = asyncio.create_task(peer.client.call_tool("lamp", {}))
    await until(lambda: "tools/call" in peer.methods())
    peer.answer(id_, {"result": {}})
    assert peer.counters.get("xiaozhi.mcp.late_answer") == 1
    peer.answer(float(peer.requests[-1]["id"]), {"result": {"content": []}})  # 4.0 is 4
    assert (await waiting).success
    peer.answer(peer.requests[-1]["id"], {"result": {"content": []}})  # a double
    assert peer.counters.get("xiaozhi.mcp.late_answer") == 2


async def test_ids_wrap_around_those_that_are_pending() -> None:
    peer = await ready()
    peer.call = lambda params: None
    calls = [asyncio.create_task(peer.client.call_tool("lamp", {})) for _ in range(3)]
    await until(lambda: peer.methods().count("tools/call") == 3)
    pending = [request["id"] for request in peer.requests[-3:]]
    peer.client._last_id = pending[0] - 1
    calls.append(asyncio.create_task(peer.client.call_tool("lamp", {})))
    await until(lambda: peer.methods().count("tools/call") == 4)
    assert peer.requests[-1]["id"] not in pending
    peer.client._last_id = device_tools.MAX_ID
    assert peer.client._new_id() == 1
    peer.client.cancel_all()
    await asyncio.gather(*calls)


@pytest.mark.parametrize("payload", [{}, {"id": 1}, {"jsonrpc": "1.0"}, {"method": 3, "id": 1}])
async def test_frames_without_meaning_are_counted(payload: JsonObject) -> None:
    peer = await ready()
    peer.client.on_mcp_message(payload)
    assert peer.counters.get("xiaozhi.mcp.malformed") == 1


async def test_requests_of_the_device_are_ignored() -> None:
    peer = await ready()
    peer.client.on_mcp_message({"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage"})
    peer.client.on_mcp_message({"jsonrpc": "2.0", "method": "notifications/message"})
    assert peer.counters.get("xiaozhi.mcp.ignored_request") == 1


@pytest.mark.parametrize("name", sorted(device_tools.ENDING))
async def test_a_tool_that_ends_the_connection_has_done_its_work(name: str) -> None:
    peer = Peer()
    peer.pages[""] = {"result": {"tools": [tool(name)]}}
    assert await peer.client.initialize()
    peer.call = lambda params: None
    call = asyncio.create_task(peer.client.call_tool(name, {}))
    await until(lambda: "tools/call" in peer.methods())
    peer.client.cancel_all()
    assert (await call).success
    late = await peer.client.call_tool(name, {})
    assert (late.success, late.error_type) == (False, "disconnected")


async def test_everything_pending_fails_at_once_when_the_device_goes() -> None:
    peer = await ready()
    peer.call = lambda params: None
    calls = [asyncio.create_task(peer.client.call_tool("lamp", {})) for _ in range(3)]
    await until(lambda: peer.methods().count("tools/call") == 3)
    peer.client.cancel_all()
    results = await asyncio.wait_for(asyncio.gather(*calls), 30)
    assert {(r.success, r.error_type, r.retryable) for r in results} == {
        (False, "disconnected", True)
    }
    sent = len(peer.requests)
    after = await peer.client.call_tool("lamp", {})
    assert (after.error_type, after.retryable, len(peer.requests)) == ("disconnected", True, sent)
    assert not await peer.client.initialize()
    assert peer.client._pending == {}


async def test_a_send_that_fails_is_a_disconnect() -> None:
    peer = await ready()
    peer.gone = True
    result = await peer.client.call_tool("lamp", {})
    assert (result.error_type, result.retryable) == ("disconnected", True)


async def test_cancelling_a_call_leaves_nothing_pending() -> None:
    peer = await ready()
    peer.call = lambda params: None
    waiting = asyncio.create_task(peer.client.call_tool("lamp", {}))
    await until(lambda: "tools/call" in peer.methods())
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert peer.client._pending == {}


async def test_arguments_that_json_cannot_write_are_the_models_mistake() -> None:
    async def send(message: JsonObject) -> None:
        if message["payload"]["method"] == "tools/call":
            raise ValueError("Out of range float values are not JSON compliant")
        await peer.receive(message)

    peer = Peer()
    client = XiaozhiDeviceToolClient("session", send)
    peer.client = client
    assert await client.initialize()
    result = await client.call_tool("lamp", {"x": float("nan")})
    assert (result.success, result.error_type) == (False, "invalid_arguments")


async def test_calls_that_wait_are_bounded() -> None:
    peer = await ready(max_pending_calls=2)
    peer.call = lambda params: None  # no answer of its own
    calls = [asyncio.create_task(peer.client.call_tool("lamp", {})) for _ in range(2)]
    await until(lambda: peer.methods().count("tools/call") == 2)
    refused = await peer.client.call_tool("fan", {})
    assert (refused.success, refused.error_type, refused.retryable) == (False, "failed", True)
    assert peer.counters.get("xiaozhi.limited.tool_calls") == 1
    for request in peer.requests[-2:]:
        peer.answer(request["id"], {"result": {"content": [], "isError": False}})
    assert all(result.success for result in await asyncio.gather(*calls))
    peer.call = lambda params: {"result": {"content": [], "isError": False}}
    assert (await peer.client.call_tool("fan", {})).success


async def early_call(peer: Peer, name: str = "lamp") -> asyncio.Task[ToolCallResult]:
    """Call while the device has been greeted and has not answered."""
    peer.initialize = None
    greeting = asyncio.create_task(peer.client.initialize())
    await until(lambda: peer.methods() == ["initialize"])
    call = asyncio.create_task(peer.client.call_tool(name, {}))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not call.done()
    assert peer.methods() == ["initialize"], "nothing is called before the list is there"
    peer.greeting = greeting
    return call


@pytest.mark.parametrize(("name", "error"), [("lamp", ""), ("oven", "not_found")])
async def test_an_early_call_waits_for_the_list(name: str, error: str) -> None:
    peer = Peer()
    call = await early_call(peer, name)
    peer.answer(peer.requests[0]["id"], {"result": {}})
    result = await call
    assert (result.success, result.error_type) == (not error, error)
    assert await peer.greeting


async def test_an_early_call_has_one_limit_for_both_waits() -> None:
    peer = Peer(timeout=0.02)
    result = await (await early_call(peer))
    assert (result.error_type, result.retryable) == ("timeout", True)
    peer.greeting.cancel()


async def test_an_early_call_fails_when_the_list_does() -> None:
    peer = Peer()
    call = await early_call(peer)
    peer.answer(peer.requests[0]["id"], {"error": {"message": "no"}})
    assert (await call).error_type == "not_found"


async def test_an_early_call_fails_at_once_when_the_device_goes() -> None:
    peer = Peer()
    call = await early_call(peer)
    peer.client.cancel_all()
    assert (await call).error_type == "disconnected"
