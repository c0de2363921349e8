"""What every tool source does."""

from __future__ import annotations

import asyncio

import pytest
import pytest_asyncio

from vixio.core.errors import ToolError
from vixio.core.tools.arguments import prepare
from vixio.core.tools.context import ToolContext
from vixio.core.tools.execute import execute
from vixio.core.tools.source import ToolSource
from vixio.core.tools.types import ToolCallResult, ToolDefinition
from vixio.testing.contract.base import LIMIT, ProviderContract


async def _ready(source: ToolSource) -> None:
    async with asyncio.timeout(LIMIT):
        await source.start()
        await source.ready()


class ToolSourceContract(ProviderContract[ToolSource]):
    """What every tool source does. The source under test has at least one tool once it is ready."""

    @pytest_asyncio.fixture
    async def source(self, unstarted: ToolSource) -> ToolSource:
        """Return a source that is ready, a new one for each test."""
        await _ready(unstarted)
        return unstarted

    async def test_it_has_tools_once_it_is_ready(self, source: ToolSource) -> None:
        assert source.name
        assert source.tools()
        assert source.faults == []

    async def test_each_tool_can_be_offered_to_a_model(self, source: ToolSource) -> None:
        tools = source.tools()
        assert len({tool.name for tool in tools}) == len(tools)
        for tool in tools:
            assert tool.name
            assert tool.description
            assert tool.caller is not None
            prepare(tool)  # raises ToolError if its parameters are not a JSON Schema

    async def test_the_list_is_equal_while_nothing_changes(self, source: ToolSource) -> None:
        assert tuple(source.tools()) == tuple(source.tools())

    async def test_before_its_start_it_can_be_asked_for_its_tools(
        self, unstarted: ToolSource
    ) -> None:
        assert isinstance(tuple(unstarted.tools()), tuple)

    async def test_start_is_idempotent(self, unstarted: ToolSource) -> None:
        await unstarted.start()
        await _ready(unstarted)
        names = [tool.name for tool in unstarted.tools()]
        assert len(set(names)) == len(names)

    @pytest.mark.parametrize("yields", [0, 1, 5])
    async def test_a_cancelled_start_leaves_nothing(
        self, unstarted: ToolSource, yields: int
    ) -> None:
        starting = asyncio.create_task(unstarted.start())
        for _ in range(yields):
            await asyncio.sleep(0)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)

    async def test_a_call_ends_with_a_result_whatever_its_arguments(
        self, source: ToolSource
    ) -> None:
        for tool in source.tools():
            result = await _call(tool)
            assert isinstance(result, ToolCallResult)
            assert result.success or result.error_type

    async def test_a_tool_that_does_not_exist_is_a_failure(self, source: ToolSource) -> None:
        for caller in {id(tool.caller): tool.caller for tool in source.tools()}.values():
            unknown = ToolDefinition("no such tool", "None.", caller=caller)
            assert isinstance(await _call(unknown), ToolCallResult)

    @pytest.mark.parametrize("yields", [0, 1, 10])
    async def test_a_call_can_be_cancelled(self, source: ToolSource, yields: int) -> None:
        for tool in source.tools():
            calling = asyncio.create_task(_call(tool))
            for _ in range(yields):
                await asyncio.sleep(0)
            calling.cancel()
            (outcome,) = await asyncio.gather(calling, return_exceptions=True)
            assert isinstance(outcome, ToolCallResult | asyncio.CancelledError)

    async def test_close_is_idempotent_and_ends_calls(self, source: ToolSource) -> None:
        tools = tuple(source.tools())
        calling = [asyncio.create_task(_call(tool)) for tool in tools]
        await asyncio.sleep(0)
        async with asyncio.timeout(LIMIT):
            await source.close()
            await source.close()
            assert all(isinstance(each, ToolCallResult) for each in await asyncio.gather(*calling))
            for tool in tools:
                assert isinstance(await _call(tool), ToolCallResult)

    async def test_it_can_be_closed_without_a_start(self, unstarted: ToolSource) -> None:
        async with asyncio.timeout(LIMIT):
            await unstarted.close()


async def _call(tool: ToolDefinition) -> ToolCallResult:
    """Call a tool as the runtime does, with an empty object that its schema may forbid."""
    async with asyncio.timeout(LIMIT):
        try:
            result, _ = await execute(tool, {}, ToolContext())
        except ToolError as error:
            return ToolCallResult.failure(error)
    return result
