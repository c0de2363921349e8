"""Calls to real servers, in every transport."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.waiting import until
from tests.unit.tools.mcp.servers import BOUND, RunningServer, served, source_of, stdio
from vixio.tools.mcp.config import Transport
from vixio.tools.mcp.source import McpSource

pytestmark = pytest.mark.slow

TRANSPORTS: tuple[Transport, ...] = ("stdio", "sse", "streamable_http")


async def sleeping(source: McpSource, number: str) -> None:
    """Wait until so many calls of ``slow`` are under way at the server."""
    async with asyncio.timeout(BOUND):
        while (await source.call_tool("sleeping", {})).result != number:
            pass


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_tools_are_listed_called_and_follow_the_server(transport: Transport) -> None:
    async with served(transport) as config, source_of(config) as source:
        assert source.faults == []
        tools = {tool.name: tool for tool in source.tools()}
        assert {"echo", "erase", "slow", "fail"} <= set(tools)
        assert tools["echo"].parameters["required"] == ["text"]
        assert tools["echo"].source == "trouble"
        assert (tools["echo"].options.idempotent, tools["echo"].options.retries) == (True, 1)
        assert tools["erase"].options.confirm
        assert not tools["fail"].options.confirm
        heard = await asyncio.gather(
            *(source.call_tool("echo", {"text": f"hello {number}"}) for number in range(5))
        )
        assert [each.result for each in heard] == [f"hello {number}" for number in range(5)]
        failed = await source.call_tool("fail", {})
        assert (failed.success, failed.error_type) == (False, "failed")
        assert "it cannot be done" in str(failed.error)
        changes: list[object] = []
        source.watch(changes.append)
        await source.call_tool("grow", {"name": "later"})
        await until(
            lambda: any(tool.name == "later" for tool in source.tools()),
            what="the new tool",
            seconds=BOUND,
        )
        assert changes
        assert (await source.call_tool("later", {})).result == "later"


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_call_is_limited_in_time_and_cancelled_at_the_server(transport: Transport) -> None:
    async with served(transport) as config, source_of(config) as source:
        late = await source.call_tool("slow", {"seconds": 60}, timeout=0.2)
        assert (late.error_type, late.retryable) == ("timeout", True)
        call = asyncio.create_task(source.call_tool("slow", {"seconds": 60}))
        await sleeping(source, "1")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await sleeping(source, "0")
        assert (await source.call_tool("echo", {"text": "still there"})).result == "still there"


@pytest.mark.parametrize("transport", ["sse", "streamable_http"])
async def test_a_killed_server_costs_its_own_tools_and_they_come_back(
    transport: Transport,
) -> None:
    server = RunningServer(transport)
    await server.start()
    try:
        config = stdio(
            transport=transport, command="", args=(), url=server.url, refresh=0.3, timeout=20.0
        )
        async with source_of(config) as source:
            pending = asyncio.create_task(source.call_tool("slow", {"seconds": 60}))
            await asyncio.sleep(0)
            await server.kill()
            lost = await asyncio.wait_for(pending, BOUND)
            assert (lost.success, lost.retryable) == (False, True)
            await until(lambda: not source.tools(), what="the tools' end", seconds=BOUND)
            assert source.faults[0].place == "mcp_servers"
            gone = await source.call_tool("echo", {"text": "?"})
            assert gone.error_type == "disconnected"
            await server.start()
            await until(source.tools, what="the tools' return", seconds=BOUND)
            assert (await source.call_tool("echo", {"text": "back"})).result == "back"
            assert source.connects == 2
            assert source.faults == []
    finally:
        await server.kill()
