"""Tools of every kind as FunctionTools of the SDK, and the SDK's as tools of ours."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from agents import FunctionTool, ToolOutputImage, ToolOutputText, function_tool
from agents.tool_context import ToolContext as SdkContext

from vixio.core.errors import ToolError
from vixio.core.tools.context import ToolContext
from vixio.core.tools.function import FunctionCaller
from vixio.core.tools.runner import DIRECT
from vixio.core.tools.types import (
    ImagePart,
    JsonObject,
    ToolCallResult,
    ToolDefinition,
    ToolOptions,
)
from vixio.providers.openai_agent.tools import OpenAIAgentToolConverter, definition_of

PLAIN = ToolOptions()

VOLUME = {
    "properties": {"volume": {"type": "integer", "minimum": 0, "maximum": 100}},
    "required": ["volume"],
    "$comment": "kept",
}


class Client:
    """Answers calls from a script, and records them."""

    def __init__(self, *results: ToolCallResult | Exception) -> None:
        self.asked: list[tuple[str, JsonObject, float | None]] = []
        self._results = list(results)

    async def call_tool(
        self,
        tool_name: str,
        arguments: JsonObject,
        *,
        timeout: float | None = None,
        context: ToolContext | None = None,
    ) -> ToolCallResult:
        self.asked.append((tool_name, arguments, timeout))
        result = self._results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result


def _context(call_id: str = "c1") -> SdkContext[None]:
    return SdkContext(None, tool_name="t", tool_call_id=call_id, tool_arguments="{}")


async def _invoke(tool: FunctionTool, arguments: str) -> Any:  # noqa: ANN401 - what a tool returns
    return await tool.on_invoke_tool(_context(), arguments)


async def _error(tool: FunctionTool, arguments: str = "{}") -> dict[str, Any]:
    error: dict[str, Any] = json.loads(await _invoke(tool, arguments))["error"]
    assert error.keys() == {"type", "message", "retryable"}
    return error


def _device(client: Client, options: ToolOptions = PLAIN, alias: str = "") -> ToolDefinition:
    return ToolDefinition(
        "self.audio.set_volume",
        "Set it",
        VOLUME,
        "device",
        options,
        caller=client,
        alias=alias,
    )


def _local(executor: Callable[..., Awaitable[Any]], options: ToolOptions = PLAIN) -> ToolDefinition:
    return ToolDefinition("do", "Do it", options=options, caller=FunctionCaller(executor))


OK = ToolCallResult("", True, "30")


async def test_a_device_tool_is_called_under_its_wire_name() -> None:
    client = Client(OK)
    tool = OpenAIAgentToolConverter().convert_device_tool(_device(client, ToolOptions(timeout=7)))
    assert tool.name == "self_audio_set_volume"
    assert await _invoke(tool, '{"volume": 30}') == "30"
    assert client.asked == [("self.audio.set_volume", {"volume": 30}, 7)]


def test_the_alias_is_the_name_and_the_schema_is_whole() -> None:
    tool = OpenAIAgentToolConverter().convert(_device(Client(), alias="device_volume"))
    assert tool.name == "device_volume"
    assert tool.strict_json_schema is False
    assert tool.params_json_schema == {"type": "object", **VOLUME}


async def test_an_mcp_tool_is_called_through_its_client() -> None:
    client = Client(OK)
    definition = ToolDefinition("search", "Search", source="web", caller=client)
    tool = OpenAIAgentToolConverter().convert(definition)
    assert await _invoke(tool, "") == "30"
    assert client.asked == [("search", {}, 30.0)]


async def test_a_function_and_its_definition_work_alike() -> None:
    async def add(a: int, b: int = 2) -> int:
        """Add two numbers."""
        return a + b

    tool = OpenAIAgentToolConverter().convert_local_tool(add)
    assert (tool.name, tool.description) == ("add", "Add two numbers.")
    assert await _invoke(tool, '{"a": 40}') == "42"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ('{"volume": "loud"}', "volume"),
        ('{"volume": 101}', "volume: 101"),
        ("{}", "volume"),
        ("[1]", "object"),
        ('{"volume": NaN}', "JSON"),
        ('{"volume": 1e999}', "out of range"),
        ('{"volume": ', "JSON"),
    ],
)
async def test_wrong_arguments_are_named_and_never_sent(arguments: str, named: str) -> None:
    client = Client()
    tool = OpenAIAgentToolConverter().convert(_device(client))
    error = await _error(tool, arguments)
    assert error["type"] == "invalid_arguments"
    assert named in error["message"]
    assert client.asked == []


async def test_a_tool_that_raises_becomes_an_error() -> None:
    async def boom() -> None:
        raise ValueError("no\nluck")

    error = await _error(OpenAIAgentToolConverter().convert(_local(boom)))
    assert error == {"type": "failed", "message": "ValueError: no", "retryable": False}


async def test_a_tool_error_keeps_its_class() -> None:
    async def gone() -> None:
        raise ToolError("disconnected", "the lamp is away", retryable=True)

    error = await _error(OpenAIAgentToolConverter().convert(_local(gone)))
    assert error == {"type": "disconnected", "message": "the lamp is away", "retryable": True}


async def test_a_slow_tool_times_out() -> None:
    async def slow() -> None:
        await asyncio.Event().wait()

    tool = OpenAIAgentToolConverter().convert(_local(slow, ToolOptions(timeout=0.01)))
    assert (await _error(tool))["type"] == "timeout"


async def test_a_tools_own_timeout_is_a_plain_failure() -> None:
    async def impatient() -> None:
        raise TimeoutError("inside")

    assert (await _error(OpenAIAgentToolConverter().convert(_local(impatient))))["type"] == "failed"


@pytest.mark.parametrize(("idempotent", "tries"), [(True, 3), (False, 1)])
async def test_only_idempotent_tools_are_tried_again(idempotent: bool, tries: int) -> None:
    busy = ToolCallResult("", False, error="busy", error_type="failed", retryable=True)
    client = Client(busy, busy, OK)
    options = ToolOptions(retries=2, idempotent=idempotent)
    tool = OpenAIAgentToolConverter().convert(_device(client, options))
    output = await _invoke(tool, '{"volume": 1}')
    assert len(client.asked) == tries
    assert (output == "30") is idempotent


async def test_what_a_retry_cannot_help_is_not_tried_again() -> None:
    client = Client(ToolCallResult("", False, error="no", error_type="failed"))
    options = ToolOptions(retries=2, idempotent=True)
    tool = OpenAIAgentToolConverter().convert(_device(client, options))
    assert (await _error(tool, '{"volume": 1}'))["message"] == "no"


async def test_long_results_are_cut_and_values_written_as_json() -> None:
    async def long() -> list[str]:
        return ["é"] * 100

    tool = OpenAIAgentToolConverter().convert(_local(long, ToolOptions(max_result_chars=9)))
    assert await _invoke(tool, "{}") == '["é", "é"… [cut: 500 characters in all]'


@pytest.mark.parametrize("seen", [True, False])
async def test_images_are_data_parts_or_named(seen: bool) -> None:
    photo = ToolCallResult("", True, "a cat", images=(ImagePart("QUJD", "image/jpeg"),))
    definition = ToolDefinition("photo", "", caller=Client(photo))
    output = await _invoke(OpenAIAgentToolConverter(image_outputs=seen).convert(definition), "{}")
    if seen:
        assert output == [
            ToolOutputText(text="a cat"),
            ToolOutputImage(image_url="data:image/jpeg;base64,QUJD"),
        ]
    else:
        assert output == "a cat\n[the tool also returned images that you cannot see: image/jpeg]"


async def test_cancellation_is_not_swallowed() -> None:
    started = asyncio.Event()

    async def slow() -> None:
        started.set()
        await asyncio.Event().wait()

    tool = OpenAIAgentToolConverter().convert(_local(slow))
    task = asyncio.ensure_future(_invoke(tool, "{}"))
    await asyncio.wait_for(started.wait(), 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_schema_that_is_none_is_refused() -> None:
    broken = ToolDefinition("x", "", {"properties": {"a": {"type": "colour"}}})
    with pytest.raises(ToolError, match="not a JSON Schema"):
        OpenAIAgentToolConverter().convert(broken)


async def test_a_schema_cannot_make_the_server_fetch() -> None:
    remote = {"properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}}
    tool = OpenAIAgentToolConverter().convert(ToolDefinition("x", "", remote))
    assert "unresolvable reference" in (await _error(tool, '{"a": 1}'))["message"]


def test_a_converted_tool_is_its_definition_again() -> None:
    definition = _device(Client(), alias="device_volume")
    assert definition_of(OpenAIAgentToolConverter().convert(definition)) is definition


async def test_a_tool_of_the_sdk_is_called_and_its_parts_are_read() -> None:
    @function_tool
    async def look(at: str, far: bool = False) -> list[Any]:
        """Look at something."""
        return [
            ToolOutputText(text=f"{at}, {far}"),
            ToolOutputImage(image_url="data:image/png;base64,QUJD"),
            ToolOutputImage(image_url="http://127.0.0.1:9/a.png"),
        ]

    definition = definition_of(look)
    assert (definition.name, definition.description) == ("look", "Look at something.")
    result = await DIRECT.run(definition, '{"at": "the lamp", "far": true}', "c1")
    assert result.success
    assert result.images == (ImagePart("QUJD", "image/png"),)
    assert result.result is not None
    assert result.result.startswith("the lamp, True\n")
    assert "a.png" in result.result


async def test_a_tool_of_the_sdk_that_raises_is_a_failure_unless_it_explains_it() -> None:
    @function_tool
    async def plain() -> str:
        raise RuntimeError("broken")

    @function_tool(failure_error_function=lambda _, error: f"sorry: {error}")
    async def explained() -> str:
        raise RuntimeError("broken")

    failed = await DIRECT.run(definition_of(plain), "{}")
    assert (failed.success, failed.error_type) == (False, "failed")
    assert "error occurred" in failed.for_model()  # the SDK keeps the cause to itself
    told = await DIRECT.run(definition_of(explained), "{}")
    assert (told.success, told.result) == (True, "sorry: broken")
