"""The client against a peer in memory that answers as the test says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.transports.xiaozhi.support import BOUND_S, until
from vixio.core.errors import ConnectionClosed
from vixio.core.metrics import Counters
from vixio.core.tools.types import ImagePart, JsonObject, ToolDefinition
from vixio.transports.xiaozhi import device_tools
from vixio.transports.xiaozhi.device_tools import MAX_PAGES, MAX_TOOLS, XiaozhiDeviceToolClient

Answer = JsonObject | None


def tool(name: str, **more: object) -> JsonObject:
    return {"name": name, "description": name, "inputSchema": {"type": "object"}, **more}


class Peer:
    """A device's tool server. ``pages`` by cursor; ``call`` answers calls; all can be withheld."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401  the client's own types
        self.pages: dict[str, Answer] = {"": {"result": {"tools": [tool("lamp"), tool("fan")]}}}
        self.initialize: Answer = {"result": {"protocolVersion": "2024-11-05"}}
        self.call: Callable[[JsonObject], Answer] = lambda params: {
            "result": {"content": [{"type": "text", "text": params["name"]}], "isError": False}
        }
        self.requests: list[JsonObject] = []
        self.changes: list[list[str]] = []
        self.gone = False
        self.stuck = asyncio.Event()
        self.stuck.set()
        self.counters = Counters()
        self.client = XiaozhiDeviceToolClient(
            "session",
            self.receive,
            on_tools_changed=self._changed,
            counters=self.counters,
            **{"timeout": BOUND_S, "initialize_timeout": BOUND_S, **settings},
        )

    def _changed(self, tools: list[ToolDefinition]) -> None:
        self.changes.append([tool.name for tool in tools])

    async def receive(self, message: JsonObject) -> None:
        if self.gone:
            raise ConnectionClosed("gone")
        await self.stuck.wait()
        assert message["type"] == "mcp"
        request = message["payload"]
        assert request["jsonrpc"] == "2.0"
        self.requests.append(request)
        method = request["method"]
        if "id" not in request:
            return
        assert type(request["id"]) is int  # the firmware drops any other
        assert isinstance(request["params"], dict)
        answer: Answer = None
        if method == "initialize":
            answer = self.initialize
        elif method == "tools/list":
            answer = self.pages.get(request["params"]["cursor"])
        elif method == "tools/call":
            answer = self.call(request["params"])
        if answer is not None:
            self.answer(request["id"], answer)

    def answer(self, id_: object, answer: JsonObject) -> None:
        self.client.on_mcp_message({"jsonrpc": "2.0", "id": id_, **answer})

    def announce(self) -> None:
        self.client.on_mcp_message({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})

    def methods(self) -> list[str]:
        return [request["method"] for request in self.requests]

    def names(self) -> list[str]:
        return [tool.name for tool in self.client.get_tool_definitions()]


async def ready(**settings: Any) -> Peer:  # noqa: ANN401  the client's own types
    peer = Peer(**settings)
    assert await peer.client.initialize()
    return peer


async def test_the_greeting_goes_in_its_order() -> None:
    peer = await ready(vision={"url": "http://host/vision", "token": "t"})
    assert peer.methods() == ["initialize", "notifications/initialized", "tools/list"]
    params = peer.requests[0]["params"]
    assert params["protocolVersion"] == "2024-11-05"
    assert params["capabilities"] == {"vision": {"url": "http://host/vision", "token": "t"}}
    assert set(params["clientInfo"]) == {"name", "version"}
    assert peer.requests[2]["params"] == {"cursor": "", "withUserTools": False}
    assert peer.names() == ["lamp", "fan"]


async def test_without_a_camera_endpoint_there_is_no_vision() -> None:
    peer = await ready()
    assert peer.requests[0]["params"]["capabilities"] == {}


async def test_the_list_waits_for_the_answer_to_initialize() -> None:
    peer = Peer()
    peer.initialize = None
    starting = asyncio.create_task(peer.client.initialize())
    await until(lambda: len(peer.requests) == 1)
    await asyncio.sleep(0)
    assert peer.methods() == ["initialize"]
    peer.answer(peer.requests[0]["id"], {"result": {}})
    assert await starting
    assert peer.names() == ["lamp", "fan"]


@pytest.mark.parametrize("answer", [None, {"error": {"message": "no"}}])
async def test_a_device_that_does_not_greet_has_no_tools(answer: Answer) -> None:
    peer = Peer(initialize_timeout=0.02)
    peer.initialize = answer
    assert not await peer.client.initialize()
    assert peer.methods() == ["initialize"]
    assert peer.counters.get("xiaozhi.mcp.initialize_failed") == 1


@pytest.mark.parametrize("answer", [None, {"error": {"message": "no"}}, {"result": []}])
async def test_a_device_that_does_not_list_has_no_tools(answer: Answer) -> None:
    peer = Peer(initialize_timeout=0.02)
    peer.pages[""] = answer
    assert not await peer.client.initialize()
    assert peer.names() == []


async def test_a_device_that_takes_no_message_times_out() -> None:
    peer = Peer(initialize_timeout=0.02)
    peer.stuck.clear()
    assert not await peer.client.initialize()


async def test_pages_are_followed_to_the_end() -> None:
    peer = Peer()
    peer.pages = {
        "": {"result": {"tools": [tool("a"), tool("b")], "nextCursor": "c"}},
        "c": {"result": {"tools": [tool("c"), tool("a")], "nextCursor": "d"}},
        "d": {"result": {"tools": [tool("d")], "nextCursor": ""}},
    }
    assert await peer.client.initialize()
    assert peer.names() == ["a", "b", "c", "d"]


async def test_a_cursor_that_comes_back_ends_the_list() -> None:
    peer = Peer()
    peer.pages = {
        "": {"result": {"tools": [tool("a")], "nextCursor": "b"}},
        "b": {"result": {"tools": [tool("b")], "nextCursor": "b"}},
    }
    assert await peer.client.initialize()
    assert peer.names() == ["a", "b"]
    assert peer.methods().count("tools/list") == 2
    assert peer.counters.get("xiaozhi.mcp.list_cut.repeated_cursor") == 1


async def test_endless_pages_end() -> None:
    class Endless(dict[str, Answer]):
        def get(self, cursor: str, default: object = None) -> JsonObject:
            return {"result": {"tools": [], "nextCursor": cursor + "x"}}

    peer = Peer()
    peer.pages = Endless()
    assert await peer.client.initialize()
    assert peer.methods().count("tools/list") == MAX_PAGES
    assert peer.counters.get("xiaozhi.mcp.list_cut.too_many_pages") == 1


async def test_too_many_tools_are_cut() -> None:
    peer = Peer()
    peer.pages[""] = {"result": {"tools": [tool(f"t{n}") for n in range(MAX_TOOLS + 5)]}}
    assert await peer.client.initialize()
    assert len(peer.names()) == MAX_TOOLS
    assert peer.counters.get("xiaozhi.mcp.list_cut.too_many_tools") == 1


async def test_too_many_bytes_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_tools, "MAX_LIST_BYTES", 2_000)
    peer = Peer()
    peer.pages = {
        "": {"result": {"tools": [tool("a")], "nextCursor": "b"}},
        "b": {"result": {"tools": [tool("b", extra="x" * 3_000)], "nextCursor": "c"}},
    }
    assert await peer.client.initialize()
    assert peer.names() == ["a"]
    assert peer.counters.get("xiaozhi.mcp.list_cut.too_many_bytes") == 1


async def test_a_page_that_fails_keeps_those_before_it() -> None:
    peer = Peer()
    peer.pages = {
        "": {"result": {"tools": [tool("a")], "nextCursor": "b"}},
        "b": {"error": {"message": "Failed to add tool b because of payload size limit"}},
    }
    assert await peer.client.initialize()
    assert peer.names() == ["a"]


async def test_user_only_tools_can_be_neither_seen_nor_called() -> None:
    peer = Peer()
    hidden = tool("self.reboot", annotations={"audience": ["user"]})
    peer.pages[""] = {"result": {"tools": [hidden, tool("lamp"), {"name": 1}]}}
    assert await peer.client.initialize()
    assert peer.names() == ["lamp"]
    assert peer.counters.get("xiaozhi.mcp.malformed_tool") == 1
    result = await peer.client.call_tool("self.reboot", {})
    assert (result.success, result.error_type) == (False, "not_found")
    assert "tools/call" not in peer.methods()


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


async def test_everything_pending_fails_at_once_when_the_device_goes() -> None:
    peer = await ready()
    peer.call = lambda params: None
    calls = [asyncio.create_task(peer.client.call_tool("lamp", {})) for _ in range(3)]
    await until(lambda: peer.methods().count("tools/call") == 3)
    peer.client.cancel_all()
    results = await asyncio.wait_for(asyncio.gather(*calls), 0.5)
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


async def test_a_changed_list_is_listed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_tools, "RELIST_PAUSE_S", 0.001)
    peer = await ready()
    peer.pages[""] = {"result": {"tools": [tool("heater")]}}
    peer.announce()
    await until(lambda: peer.changes == [["heater"]])
    assert peer.names() == ["heater"]
    assert (await peer.client.call_tool("lamp", {})).error_type == "not_found"
    peer.pages[""] = {"result": {"tools": []}}
    peer.announce()
    await until(lambda: peer.changes == [["heater"], []])
    assert peer.names() == []


async def test_announcements_are_gathered_and_never_list_twice_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device_tools, "RELIST_PAUSE_S", 0.001)
    peer = await ready()
    peer.pages[""] = None  # withheld
    for _ in range(5):
        peer.announce()
    await until(lambda: peer.methods().count("tools/list") == 2)
    for _ in range(5):
        peer.announce()
    await asyncio.sleep(0)
    assert peer.methods().count("tools/list") == 2
    page: JsonObject = {"result": {"tools": [tool("a")]}}
    peer.pages[""] = page
    peer.answer(peer.requests[-1]["id"], page)
    await until(lambda: len(peer.changes) == 2)
    assert peer.methods().count("tools/list") == 3


async def test_a_change_while_greeting_is_listed_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device_tools, "RELIST_PAUSE_S", 0.001)
    peer = Peer()
    peer.pages[""] = None
    starting = asyncio.create_task(peer.client.initialize())
    await until(lambda: "tools/list" in peer.methods())
    peer.announce()
    peer.pages[""] = {"result": {"tools": [tool("new")]}}
    peer.answer(peer.requests[-1]["id"], {"result": {"tools": [tool("old")]}})
    assert await starting
    await until(lambda: peer.changes == [["new"]])


async def test_a_listing_that_fails_keeps_the_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_tools, "RELIST_PAUSE_S", 0.001)
    peer = await ready()
    peer.pages[""] = {"error": {"message": "busy"}}
    peer.announce()
    await until(lambda: peer.counters.get("xiaozhi.mcp.relist_failed") == 1)
    assert peer.names() == ["lamp", "fan"]
    assert peer.changes == []


async def test_the_end_stops_a_listing() -> None:
    peer = await ready()
    peer.pages[""] = None
    peer.announce()
    await until(lambda: peer.methods().count("tools/list") == 2)
    relisting = peer.client._relisting
    assert relisting is not None
    peer.client.cancel_all()
    await asyncio.wait([relisting], timeout=BOUND_S)
    assert relisting.done()
    peer.announce()
    assert peer.client._pending == {}
    assert peer.methods().count("tools/list") == 2


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
