"""A device's tools over a real socket, beside its conversation."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection

from tests.support.waiting import until
from tests.unit.transports.xiaozhi.support import (
    BOUND_S,
    HELLO,
    Server,
    opus_packets,
    receive_json,
    running,
)
from vixio.core.chunk import ListenStop
from vixio.core.tools.types import ToolCaller, ToolDefinition
from vixio.core.transport import DeviceConnection
from vixio.transports.xiaozhi import device_tools

HELLO_MCP = {**HELLO, "features": {"mcp": True}}


class Device:
    """The tool server of a client; answers what its methods are asked to."""

    def __init__(self, client: ClientConnection, *names: str) -> None:
        self.client = client
        self.names = list(names)
        self.silent = False

    async def answer(self, request: dict[str, Any], **answer: object) -> None:
        await self.send({"jsonrpc": "2.0", "id": request["id"], **answer})

    async def send(self, payload: dict[str, Any]) -> None:
        await self.client.send(json.dumps({"type": "mcp", "payload": payload}))

    async def next(self) -> dict[str, Any]:
        """Return the next request, notifications passed over."""
        while True:
            message = await receive_json(self.client)
            if message["type"] == "mcp" and "id" in message["payload"]:
                request = message["payload"]
                assert isinstance(request, dict)
                return request

    async def list(self) -> None:
        request = await self.next()
        assert request["method"] == "tools/list"
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in self.names]
        await self.answer(request, result={"tools": tools})

    async def greet(self) -> None:
        request = await self.next()
        assert request["method"] == "initialize"
        await self.answer(request, result={"protocolVersion": "2024-11-05"})
        await self.list()

    async def change(self, *names: str) -> None:
        self.names = list(names)
        await self.send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await self.list()


class Lists:
    """A callback that keeps the lists it is called with."""

    def __init__(self) -> None:
        self.lists: asyncio.Queue[list[ToolDefinition]] = asyncio.Queue()

    async def __call__(self, tools: list[ToolDefinition]) -> None:
        self.lists.put_nowait(tools)

    async def names(self) -> list[str]:
        tools = await asyncio.wait_for(self.lists.get(), BOUND_S)
        return [tool.name for tool in tools]

    async def caller(self) -> ToolCaller:
        tools = await asyncio.wait_for(self.lists.get(), BOUND_S)
        caller = tools[0].caller
        assert caller is not None
        return caller


async def listen(server: Server) -> Lists:
    lists = Lists()
    session = await server.session()
    server.transport.set_device_tools_callback(session.connection.session_id, lists)
    return lists


async def test_the_hello_goes_first_and_the_conversation_waits_for_no_tools() -> None:
    async with running() as server, server.client(hello=HELLO_MCP) as client:
        session = await server.session()
        request = await Device(client).next()  # never answered
        assert request["method"] == "initialize"
        await client.send('{"type":"listen","state":"stop"}')
        assert await session.next() == ListenStop()


async def test_a_callback_set_before_the_list() -> None:
    async with running() as server, server.client(hello=HELLO_MCP) as client:
        lists = await listen(server)
        await Device(client, "lamp", "fan").greet()
        assert await lists.names() == ["lamp", "fan"]


async def test_a_callback_set_after_the_list_and_every_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device_tools, "RELIST_PAUSE_S", 0.001)
    async with running() as server, server.client(hello=HELLO_MCP) as client:
        session = await server.session()
        device = Device(client, "lamp")
        first = Lists()
        server.transport.set_device_tools_callback(session.connection.session_id, first)
        await device.greet()
        assert await first.names() == ["lamp"]
        late = Lists()
        server.transport.set_device_tools_callback(session.connection.session_id, late)
        assert await late.names() == ["lamp"]
        await device.change("lamp", "fan")
        assert await late.names() == ["lamp", "fan"]
        await device.change()
        assert await late.names() == []
        # The first callback is still called; a list may come twice, always complete.
        while await first.names() != []:
            pass


async def test_an_unknown_session_and_a_device_without_tools_are_no_error() -> None:
    async with running() as server, server.client() as client:
        server.transport.set_device_tools_callback("unknown", Lists())
        lists = await listen(server)
        await client.send('{"type":"ping"}')
        assert (await receive_json(client))["type"] == "pong"  # and no initialize before it
        assert lists.lists.empty()


async def test_a_callback_that_fails_harms_nothing() -> None:
    async def fail(tools: list[ToolDefinition]) -> None:
        raise RuntimeError("the session's mistake")

    async with running() as server, server.client(hello=HELLO_MCP) as client:
        session = await server.session()
        server.transport.set_device_tools_callback(session.connection.session_id, fail)
        await Device(client, "lamp").greet()
        lists = Lists()
        server.transport.set_device_tools_callback(session.connection.session_id, lists)
        assert await lists.names() == ["lamp"]


async def test_an_answer_overtakes_audio_that_is_not_read() -> None:
    results: asyncio.Queue[Any] = asyncio.Queue()
    lists = Lists()

    async def deaf(connection: DeviceConnection) -> None:
        server.transport.set_device_tools_callback(connection.session_id, lists)
        caller = await lists.caller()
        results.put_nowait(await caller.call_tool("lamp", {"on": True}))

    async with running(deaf) as server, server.client(hello=HELLO_MCP) as client:
        device = Device(client, "lamp")
        await device.greet()
        request = await device.next()
        assert request["params"] == {"name": "lamp", "arguments": {"on": True}}
        for packet in opus_packets(1.2):
            await client.send(packet)
        await device.answer(request, result={"content": [{"type": "text", "text": "true"}]})
        result = await asyncio.wait_for(results.get(), BOUND_S)
        assert (result.success, result.result) == (True, "true")


@pytest.mark.parametrize("how", ["close", "vanish", "replace"])
async def test_pending_calls_fail_the_moment_the_device_goes(how: str) -> None:
    async with running() as server, server.client("aa", HELLO_MCP) as client:
        lists = await listen(server)
        device = Device(client, "lamp")
        await device.greet()
        caller = await lists.caller()
        calls = [asyncio.create_task(caller.call_tool("lamp", {})) for _ in range(3)]
        for _ in calls:
            await device.next()
        if how == "close":
            await client.close()
        elif how == "vanish":
            client.transport.abort()
        else:
            async with server.client("aa"):
                pass
        results = await asyncio.wait_for(asyncio.gather(*calls), BOUND_S)
        assert {(result.error_type, result.retryable) for result in results} == {
            ("disconnected", True)
        }
        assert (await caller.call_tool("lamp", {})).error_type == "disconnected"


async def test_a_device_that_does_not_greet_is_counted_and_kept() -> None:
    async with (
        running(tool_initialize_timeout=0.05) as server,
        server.client(hello=HELLO_MCP) as client,
    ):
        session = await server.session()
        lists = Lists()
        server.transport.set_device_tools_callback(session.connection.session_id, lists)
        await until(lambda: server.counters.get("xiaozhi.mcp.initialize_failed") == 1)
        assert await lists.names() == [], "nothing has to be waited for"
        await client.send('{"type":"listen","state":"stop"}')
        assert await session.next() == ListenStop()


async def test_the_list_of_the_last_connection_stands_in_for_the_new_one() -> None:
    async with running() as server:
        async with server.client("aa", HELLO_MCP) as client:
            lists = await listen(server)
            await Device(client, "lamp", "fan").greet()
            assert await lists.names() == ["lamp", "fan"]
        async with server.client("aa", HELLO_MCP) as client:
            again = await listen(server)
            assert await again.names() == ["lamp", "fan"], "nothing has been listed yet"
            await Device(client, "lamp", "oven").greet()
            assert await again.names() == ["lamp", "oven"]
        async with server.client("bb", HELLO_MCP) as client:
            other = await listen(server)
            await Device(client, "radio").greet()
            assert await other.names() == ["radio"]


@pytest.mark.slow
async def test_it_is_withdrawn_when_the_device_lists_nothing() -> None:
    async with running(tool_initialize_timeout=2.0) as server:
        async with server.client("aa", HELLO_MCP) as client:
            lists = await listen(server)
            await Device(client, "lamp").greet()
            assert await lists.names() == ["lamp"]
        async with server.client("aa", HELLO_MCP):
            again = await listen(server)
            while await again.names() != []:
                pass


async def test_a_call_to_it_goes_to_the_new_connection_and_waits_for_its_list() -> None:
    async with running() as server:
        async with server.client("aa", HELLO_MCP) as client:
            lists = await listen(server)
            await Device(client, "lamp").greet()
            await lists.names()
        async with server.client("aa", HELLO_MCP) as client:
            caller = await (await listen(server)).caller()
            call = asyncio.create_task(caller.call_tool("lamp", {}))
            device = Device(client, "lamp")
            await device.greet()
            request = await device.next()
            assert request["method"] == "tools/call"
            await device.answer(request, result={"content": [{"type": "text", "text": "true"}]})
            assert (await call).result == "true"
