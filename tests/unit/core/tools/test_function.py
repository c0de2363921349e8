"""A Python function as a tool's caller."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from vixio.core.errors import ToolError
from vixio.core.tools.context import ToolContext
from vixio.core.tools.function import FunctionCaller
from vixio.core.tools.types import ToolCallResult


@pytest.mark.parametrize(
    ("value", "text"),
    [("words", "words"), (None, "done"), ({"a": "é"}, '{"a": "é"}'), (3, "3")],
)
async def test_a_returned_value_becomes_text(value: object, text: str) -> None:
    async def give() -> object:
        return value

    assert await FunctionCaller(give).call_tool("give", {}) == ToolCallResult("", True, text)


async def test_a_result_is_passed_on_whole() -> None:
    failure = ToolCallResult("", False, error="no", error_type="denied")

    async def refuse() -> ToolCallResult:
        return failure

    assert await FunctionCaller(refuse).call_tool("refuse", {}) is failure


async def test_the_context_comes_first_where_it_is_wanted() -> None:
    async def who(context: ToolContext, **arguments: Any) -> str:  # noqa: ANN401 - any arguments
        return f"{context.device_id} {arguments}"

    caller = FunctionCaller(who, takes_context=True)
    result = await caller.call_tool("who", {"a": 1}, context=ToolContext(device_id="aa"))
    assert result.result == "aa {'a': 1}"
    assert (await caller.call_tool("who", {})).result == " {}"


async def test_a_call_is_limited_in_time() -> None:
    stopped = asyncio.Event()

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    with pytest.raises(ToolError, match=r"no answer within 0.01 s") as caught:
        await FunctionCaller(hang).call_tool("hang", {}, timeout=0.01)
    assert (caught.value.type, caught.value.retryable) == ("timeout", True)
    assert stopped.is_set()


async def test_a_timeout_error_of_the_function_is_passed_on() -> None:
    async def give_up() -> None:
        raise TimeoutError("of a library")

    with pytest.raises(TimeoutError, match="of a library"):
        await FunctionCaller(give_up).call_tool("give_up", {}, timeout=5)
