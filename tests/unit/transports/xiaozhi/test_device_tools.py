"""What the client lists of a device, against a peer in memory."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.waiting import until
from tests.unit.transports.xiaozhi.mcp_peer import Answer, Peer, ready, tool
from tests.unit.transports.xiaozhi.support import BOUND_S
from vixio.core.tools.types import JsonObject
from vixio.transports.xiaozhi import device_tools
from vixio.transports.xiaozhi.device_tools import MAX_PAGES, MAX_TOOLS


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
