"""The device's MCP server over the socket: methods, paging and errors as in main/mcp_server.cc."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from scripted_server import Conversation, ScriptedServer, tone_packets

from firmware_test_client import (
    NO_ANSWER,
    DeviceConfig,
    Image,
    McpFaults,
    Misbehaviour,
    Property,
    SimulatedDevice,
    Tool,
)


async def list_all(talk: Conversation, *, user: bool = False) -> list[list[str]]:
    """Every page of tools/list, as names."""
    pages: list[list[str]] = []
    cursor = ""
    for number in range(100, 130):
        params = {"cursor": cursor, "withUserTools": user}
        result = (await talk.request(number, "tools/list", params))["result"]
        pages.append([tool["name"] for tool in result["tools"]])
        cursor = result.get("nextCursor", "")
        if not cursor:
            return pages
    raise AssertionError("the pages do not end")


def text_of(answer: dict[str, Any]) -> str:
    content = answer["result"]["content"]
    assert answer["result"]["isError"] is False
    assert len(content) == 1
    text = content[0]["text"]
    assert isinstance(text, str)
    return text


async def call(talk: Conversation, number: int, name: str, **arguments: object) -> dict[str, Any]:
    return await talk.request(number, "tools/call", {"name": name, "arguments": arguments})


async def test_initialize_sets_the_vision_service(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device()) as device:
        vision = {"url": "http://127.0.0.1/explain", "token": "t"}
        params = {"protocolVersion": "2024-11-05", "capabilities": {"vision": vision}}
        result = (await server.talk.request(1, "initialize", params))["result"]
        assert result["protocolVersion"] == "2024-11-05"
        assert result["capabilities"] == {"tools": {}}
        assert result["serverInfo"] == {"name": "simulated-board", "version": "2.0.3"}
        await server.talk.mcp({"jsonrpc": "2.0", "method": "notifications/initialized"})
        await device.wait_for(lambda: device.mcp.notifications, what="the notification")
        assert device.mcp.vision is not None
        assert (device.mcp.vision.url, device.mcp.vision.token) == (vision["url"], "t")


async def test_common_tools_and_user_only_tools(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device()):
        common = (await list_all(server.talk))[0]
        assert common == [
            "self.get_device_status",
            "self.audio_speaker.set_volume",
            "self.screen.set_brightness",
            "self.screen.set_theme",
        ]
        result = await server.talk.request(5, "tools/list", {"withUserTools": True})
        tools = {tool["name"]: tool for tool in result["result"]["tools"]}
        assert tools["self.reboot"]["annotations"] == {"audience": ["user"]}
        assert tools["self.audio_speaker.set_volume"]["inputSchema"] == {
            "type": "object",
            "properties": {"volume": {"type": "integer", "minimum": 0, "maximum": 100}},
            "required": ["volume"],
        }
        assert "required" not in tools["self.get_device_status"]["inputSchema"]


async def test_paging_ends_and_names_every_tool_once(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device()) as device:
        for number in range(60):
            tool = Tool(f"self.many.tool_{number}", "x" * 400, (), lambda: True)
            device.add_tool(tool, notify=False)
        pages = await list_all(server.talk)
        names = [name for page in pages for name in page]
        assert len(pages) > 3
        assert len(names) == len(set(names)) == 64
        sizes = [f.size for f in device.frames if f.type == "mcp" and f.direction == "out"]
        assert max(sizes) < 8000 + 120  # the page and its envelope


async def test_paging_failures_are_the_firmware_s(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device()) as device:
        unknown = await server.talk.request(1, "tools/list", {"cursor": "self.gone"})
        assert unknown["error"] == {"message": "Failed to add tool  because of payload size limit"}
        device.add_tool(Tool("self.long", "x" * 9000, (), lambda: True))
        long = await server.talk.request(2, "tools/list", {"cursor": "self.long"})
        assert "Failed to add tool self.long" in long["error"]["message"]


async def test_calls_change_the_device_and_results_are_texts(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device()) as device:
        talk = server.talk
        assert text_of(await call(talk, 1, "self.audio_speaker.set_volume", volume=30)) == "true"
        assert text_of(await call(talk, 2, "self.screen.set_theme", theme="pink")) == "false"
        status = json.loads(text_of(await call(talk, 3, "self.get_device_status")))
        assert status["audio_speaker"]["volume"] == device.volume == 30
        device.add_tool(Tool("self.count", "", (), lambda: 7))
        device.add_tool(Tool("self.table", "", (), lambda: {"a": 1}))
        device.add_tool(Tool("self.photo", "", (), lambda: Image("image/png", b"\x01\x02")))
        assert text_of(await call(talk, 4, "self.count")) == "7"
        assert text_of(await call(talk, 5, "self.table")) == '{"a":1}'
        picture = (await call(talk, 6, "self.photo"))["result"]["content"][0]
        assert json.loads(picture["image"])["mimeType"] == "image/png"
        assert [record.name for record in device.mcp.calls][-1] == "self.photo"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (None, "Missing params"),
        ({}, "Missing name"),
        ({"name": "self.nothing"}, "Unknown tool: self.nothing"),
        ({"name": "self.screen.set_theme", "arguments": [1]}, "Invalid arguments"),
        ({"name": "self.screen.set_theme"}, "Missing valid argument: theme"),
        (
            {"name": "self.audio_speaker.set_volume", "arguments": {"volume": "30"}},
            "Missing valid argument: volume",
        ),
        (
            {"name": "self.audio_speaker.set_volume", "arguments": {"volume": 101}},
            "Value exceeds maximum allowed: 100",
        ),
        (
            {"name": "self.audio_speaker.set_volume", "arguments": {"volume": -1}},
            "Value is below minimum allowed: 0",
        ),
        ({"name": "self.fails"}, "it broke"),
        ({"name": "self.fails_later"}, "it broke late"),
    ],
)
async def test_errors_have_a_message_and_no_code(
    server: ScriptedServer, params: dict[str, Any] | None, message: str
) -> None:
    def fails() -> bool:
        raise RuntimeError("it broke")

    async def fails_later() -> bool:
        await asyncio.sleep(0)
        raise RuntimeError("it broke late")

    async with SimulatedDevice(server.device()) as device:
        device.add_tool(Tool("self.fails", "", (), fails))
        device.add_tool(Tool("self.fails_later", "", (), fails_later))
        answer = await server.talk.request(1, "tools/call", params)
        assert answer == {"jsonrpc": "2.0", "id": 1, "error": {"message": message}}
        assert device.volume == 70


async def test_unknown_method_and_unescaped_message(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device()) as device:
        answer = await server.talk.request(1, "resources/list")
        assert answer["error"]["message"] == "Method not implemented: resources/list"
        await server.talk.mcp(
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": 'a"b'}}
        )
        await server.talk.until(lambda: isinstance(server.talk.texts[-1], str))
        assert 'Unknown tool: a"b"' in str(server.talk.texts[-1])
        assert device.frames[-1].body is None


async def test_messages_that_the_firmware_drops_get_no_answer(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device()) as device:
        talk = server.talk
        await talk.mcp({"jsonrpc": "2.0", "id": "7", "method": "tools/list"})
        await talk.mcp({"jsonrpc": "2.0", "method": "tools/list"})
        await talk.mcp({"jsonrpc": "1.0", "id": 8, "method": "tools/list"})
        await talk.mcp({"jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": []})
        await talk.request(10, "tools/list")
        assert len(device.mcp.refused) == 4
        assert len(talk.bodies("mcp")) == 1


async def test_arguments_with_defaults_and_raw_schemas(server: ScriptedServer) -> None:
    seen: list[dict[str, object]] = []

    def take(**arguments: object) -> bool:
        seen.append(arguments)
        return True

    async with SimulatedDevice(server.device()) as device:
        properties = (
            Property("on", "boolean", default=True),
            Property("level", "integer", 3, 1, 5),
        )
        device.add_tool(Tool("self.lamp", "", properties, take))
        schema = {"type": "object", "properties": {"x": {"type": "array"}}}
        device.add_tool(Tool("self.raw", "", (), take, input_schema=schema))
        await call(server.talk, 1, "self.lamp", level=4.9)
        await call(server.talk, 2, "self.lamp", on="no")
        await call(server.talk, 3, "self.raw", x=[1])
        assert seen == [{"on": True, "level": 4}, {"on": True, "level": 3}, {"x": [1]}]
        tools = (await server.talk.request(4, "tools/list"))["result"]["tools"]
        assert tools[-1]["inputSchema"] == schema
        lamp = tools[-2]["inputSchema"]["properties"]
        assert lamp["level"] == {"type": "integer", "default": 3, "minimum": 1, "maximum": 5}


async def test_added_and_removed_tools_are_announced(server: ScriptedServer) -> None:
    async with SimulatedDevice(server.device()) as device:
        device.add_tool(Tool("self.lamp.turn_on", "", (), lambda: True))
        await server.talk.until(lambda: len(server.talk.bodies("mcp")) == 1)
        method = server.talk.bodies("mcp")[0]["payload"]["method"]
        assert method == "notifications/tools/list_changed"
        assert "self.lamp.turn_on" in (await list_all(server.talk))[0]
        device.remove_tool("self.lamp.turn_on", notify=False)
        answer = await call(server.talk, 1, "self.lamp.turn_on")
        assert answer["error"]["message"] == "Unknown tool: self.lamp.turn_on"
        with pytest.raises(KeyError):
            device.remove_tool("self.lamp.turn_on")


async def test_a_slow_tool_holds_up_the_main_task(server: ScriptedServer) -> None:
    gate = asyncio.Event()

    async def slow() -> str:
        await gate.wait()
        return "done"

    async with SimulatedDevice(server.device()) as device:
        talk = server.talk
        device.add_tool(Tool("self.slow", "", (), slow))
        await talk.until(lambda: talk.binaries)
        for number, name in ((1, "self.slow"), (2, "self.get_device_status")):
            params = {"name": name, "arguments": {}}
            await talk.mcp(
                {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            )
        await talk.send({"type": "tts", "state": "start"})
        await talk.audio(tone_packets(2))
        await device.wait_for_frame("audio", direction="in")
        assert device.state == "listening"  # `tts start` waits for the tool
        assert talk.bodies("mcp", None)[-1]["payload"].get("id") is None
        before = len(talk.binaries)
        await asyncio.sleep(0.2)
        assert len(talk.binaries) == before  # and so does the microphone
        gate.set()
        await device.wait_for_state("speaking")
        await talk.until(lambda: talk.answers(2))
        order = [body["payload"].get("id") for body in talk.bodies("mcp")]
        assert order[-2:] == [1, 2]
        assert device.counters.audio_outside_speaking == 2
        await talk.until(lambda: len(talk.binaries) > before)


def with_faults(server: ScriptedServer, faults: McpFaults) -> DeviceConfig:
    return server.device(misbehaviour=Misbehaviour(mcp=faults))


async def test_faults_in_the_answers(server: ScriptedServer) -> None:
    faults = McpFaults(string_ids=True, forged_ids=True)
    async with SimulatedDevice(with_faults(server, faults)):
        await server.talk.mcp({"jsonrpc": "2.0", "id": 4, "method": "initialize"})
        await server.talk.until(lambda: len(server.talk.bodies("mcp")) == 2)
        ids = [body["payload"]["id"] for body in server.talk.bodies("mcp")]
        assert ids == ["900000004", "4"]


async def test_duplicate_and_delayed_answers(server: ScriptedServer) -> None:
    faults = McpFaults(duplicate_answers=True, delay=0.1)
    async with SimulatedDevice(with_faults(server, faults)) as device:
        begin = device.now
        await server.talk.request(1, "tools/list")
        assert device.now - begin >= 0.1
        await server.talk.until(lambda: len(server.talk.answers(1)) == 2)


async def test_never_answered(server: ScriptedServer) -> None:
    faults = McpFaults(never_answer=frozenset({"initialize", "self.get_device_status"}))
    async with SimulatedDevice(with_faults(server, faults)) as device:
        device.add_tool(Tool("self.mute", "", (), lambda: NO_ANSWER), notify=False)
        talk = server.talk
        await talk.mcp({"jsonrpc": "2.0", "id": 1, "method": "initialize"})
        for number, name in ((2, "self.get_device_status"), (3, "self.mute")):
            params = {"name": name}
            await talk.mcp(
                {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            )
        await talk.request(4, "tools/list")
        assert [body["payload"]["id"] for body in talk.bodies("mcp")] == [4]


@pytest.mark.parametrize(
    ("faults", "cursors"),
    [
        (McpFaults(endless_paging=True), ["page-1", "page-2", "page-3"]),
        (McpFaults(repeat_cursor=True), ["again", "again", "again"]),
    ],
)
async def test_paging_without_end(
    server: ScriptedServer, faults: McpFaults, cursors: list[str]
) -> None:
    async with SimulatedDevice(with_faults(server, faults)):
        answers = [await server.talk.request(number, "tools/list") for number in (1, 2, 3)]
        assert [answer["result"]["nextCursor"] for answer in answers] == cursors


async def test_answers_in_reverse_order(server: ScriptedServer) -> None:
    async with SimulatedDevice(with_faults(server, McpFaults(reverse_order=3))):
        talk = server.talk
        for number in (1, 2, 3):
            params = {"name": "self.get_device_status"}
            await talk.mcp(
                {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            )
        await talk.until(lambda: talk.answers(1))
        assert [body["payload"]["id"] for body in talk.bodies("mcp")] == [3, 2, 1]


async def test_concurrent_tools_answer_as_they_finish(server: ScriptedServer) -> None:
    gate = asyncio.Event()

    async def slow() -> bool:
        await gate.wait()
        return True

    async with SimulatedDevice(with_faults(server, McpFaults(concurrent=True))) as device:
        device.add_tool(Tool("self.slow", "", (), slow), notify=False)
        talk = server.talk
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        await talk.mcp(request | {"params": {"name": "self.slow"}})
        await call(talk, 2, "self.get_device_status")
        gate.set()
        await talk.until(lambda: talk.answers(1))
        assert [body["payload"]["id"] for body in talk.bodies("mcp")] == [2, 1]
