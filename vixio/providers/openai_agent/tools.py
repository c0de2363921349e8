"""Tools of the openai-agents SDK: made from definitions, and used as ones.

Importing this imports the SDK. Vixio's own agent needs neither: it takes definitions as they are
(``turn_loop``). This is for programs that have agents or tools of the SDK themselves.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

from agents import (
    FunctionTool,
    RunConfig,
    ToolOutputImage,
    ToolOutputText,
    function_span,
    set_tracing_disabled,
)
from agents.run import ToolErrorFormatterArgs
from agents.tool_context import ToolContext as SdkToolContext

from vixio.core.errors import ToolError
from vixio.core.tools.context import ToolContext
from vixio.core.tools.converter import ToolConverterBase
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.runner import DIRECT
from vixio.core.tools.types import ImagePart, JsonObject, ToolCallResult, ToolDefinition
from vixio.providers.openai_agent.offered import as_offered

set_tracing_disabled(True)  # a thread of the SDK would send traces to a cloud service

_DATA_URL = re.compile(r"data:([^;,]+);base64,(.+)", re.DOTALL)


class ConvertedTool(FunctionTool):
    """A tool made from ``definition``, which Vixio's agent uses instead."""

    definition: ToolDefinition


class OpenAIAgentToolConverter(ToolConverterBase[FunctionTool]):
    """Converts tools of every kind to :class:`agents.FunctionTool`.

    The model sees a tool's alias; the call uses the name on the source's wire. ``image_outputs``:
    pass images to the model as data parts; otherwise only mention them in the text, since the Chat
    Completions API accepts only text from tools. Raises ToolError for an invalid JSON Schema,
    TypeError for a function that cannot be described.
    """

    def __init__(self, *, image_outputs: bool = True) -> None:
        self._image_outputs = image_outputs

    def convert_device_tool(self, tool_def: ToolDefinition) -> FunctionTool:
        """Convert a tool that the device executes."""
        return self._function_tool(tool_def)

    def convert_local_tool(
        self, func: Callable[..., Awaitable[Any]] | ToolDefinition
    ) -> FunctionTool:
        """Convert a function with type hints and a docstring, or its definition."""
        if isinstance(func, ToolDefinition):
            return self._function_tool(func)
        return self._function_tool(func_to_tool_definition(func))

    def convert_mcp_tool(self, tool_def: ToolDefinition) -> FunctionTool:
        """Convert a tool that an MCP client executes."""
        return self._function_tool(tool_def)

    def _function_tool(self, tool_def: ToolDefinition) -> FunctionTool:
        offered = as_offered(tool_def)

        async def invoke(context: SdkToolContext[Any], arguments: str) -> Any:  # noqa: ANN401 - the SDK's signature
            return self._output(await DIRECT.run(tool_def, arguments, context.tool_call_id))

        tool = ConvertedTool(
            name=offered.name,
            description=offered.description,
            params_json_schema=offered.parameters,
            on_invoke_tool=invoke,
            strict_json_schema=False,  # strict mode would rewrite the schema
        )
        tool.definition = tool_def
        return tool

    def _output(self, result: ToolCallResult) -> str | list[ToolOutputText | ToolOutputImage]:
        if not (result.images and self._image_outputs):
            return result.in_words()
        return [
            ToolOutputText(text=result.for_model() or "The image:"),
            *(ToolOutputImage(image_url=image.url) for image in result.images),
        ]


def definition_of(tool: FunctionTool) -> ToolDefinition:
    """Return the definition of an SDK's tool; for a converted one, that which it was made from."""
    if isinstance(tool, ConvertedTool):
        return tool.definition
    return ToolDefinition(
        tool.name, tool.description, tool.params_json_schema, caller=_SdkToolCaller(tool)
    )


class _SdkToolCaller:
    """Executes one tool of the SDK."""

    def __init__(self, tool: FunctionTool) -> None:
        self._tool = tool

    async def call_tool(
        self,
        tool_name: str,
        arguments: JsonObject,
        *,
        timeout: float | None = None,
        context: ToolContext | None = None,
    ) -> ToolCallResult:
        """See :class:`~vixio.core.tools.types.ToolCaller`; the time limit is the runtime's."""
        failed: list[str] = []

        def explain(details: ToolErrorFormatterArgs[None]) -> str:
            failed.append(details.default_message)
            return details.default_message

        text = json.dumps(arguments, ensure_ascii=False)
        sdk_context = SdkToolContext(
            None,
            tool_name=tool_name,
            tool_call_id="",
            tool_arguments=text,
            run_config=RunConfig(tracing_disabled=True, tool_error_formatter=explain),
        )
        with function_span(tool_name, disabled=True):  # without one, the SDK logs each error
            output = await self._tool.on_invoke_tool(sdk_context, text)
        if failed:
            raise ToolError("failed", failed[0])
        return _result(output)


def _result(output: object) -> ToolCallResult:
    """Return what a tool of the SDK returned, as a result."""
    texts: list[str] = []
    images: list[ImagePart] = []
    for part in output if isinstance(output, list) else [output]:
        if isinstance(part, ToolOutputText):
            texts.append(part.text)
        elif isinstance(part, ToolOutputImage) and (url := _DATA_URL.match(part.image_url or "")):
            images.append(ImagePart(url[2], url[1]))
        else:
            texts.append(str(part))
    return ToolCallResult("", success=True, result="\n".join(texts), images=tuple(images))
