"""Converts tools to those of the openai-agents SDK. Importing this imports the SDK."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from agents import FunctionTool, ToolOutputImage, ToolOutputText
from agents.tool_context import ToolContext

from vixio.core.tools.converter import ToolConverterBase
from vixio.core.tools.local import func_to_tool_definition
from vixio.core.tools.runner import ToolRunner
from vixio.core.tools.toolset import safe_tool_name
from vixio.core.tools.types import ToolCallResult, ToolDefinition
from vixio.tools.arguments import prepare, whole_schema
from vixio.tools.runtime import DIRECT


async def _at_once() -> None:
    """Return at once, for a turn that needs no commit."""


@dataclass(slots=True)
class TurnRecord:
    """The SDK's run context: the runner of the turn's calls, and their outcomes by call id.

    ``committed`` returns once the turn may have effects.
    """

    runner: ToolRunner = DIRECT
    committed: Callable[[], Awaitable[None]] = _at_once
    failed: set[str] = field(default_factory=set)
    seconds: dict[str, float] = field(default_factory=dict)


class ConvertedTool(FunctionTool):
    """A tool made from a definition. Its calls go through the turn's runner."""


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
        prepare(tool_def)

        async def invoke(context: ToolContext[Any], arguments: str) -> Any:  # noqa: ANN401 - the SDK's signature
            turn = context.context
            runner = turn.runner if isinstance(turn, TurnRecord) else DIRECT
            result = await runner.run(tool_def, arguments, context.tool_call_id)
            if not result.success and isinstance(turn, TurnRecord):
                turn.failed.add(context.tool_call_id)
            return self._output(result)

        return ConvertedTool(
            name=tool_def.alias or safe_tool_name(tool_def.name),
            description=tool_def.description,
            params_json_schema=whole_schema(tool_def.parameters),
            on_invoke_tool=invoke,
            strict_json_schema=False,  # strict mode would rewrite the schema
        )

    def _output(self, result: ToolCallResult) -> str | list[ToolOutputText | ToolOutputImage]:
        text = result.for_model()
        if not result.images:
            return text
        if not self._image_outputs:
            kinds = ", ".join(image.mime_type for image in result.images)
            return f"{text}\n[the tool also returned images that you cannot see: {kinds}]".strip()
        return [
            ToolOutputText(text=text or "The image:"),
            *(
                ToolOutputImage(image_url=f"data:{image.mime_type};base64,{image.data}")
                for image in result.images
            ),
        ]
