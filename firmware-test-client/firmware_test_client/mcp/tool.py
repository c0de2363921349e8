"""A tool of the device: its description on the wire and the Python callable behind it.

Source: class McpTool and class ImageContent in main/mcp_server.h.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from firmware_test_client.mcp.properties import Property, Value


class NoAnswer(Enum):
    """The result of a tool call that gets no answer."""

    NO_ANSWER = "no answer"


NO_ANSWER: Final = NoAnswer.NO_ANSWER


@dataclass(frozen=True, slots=True)
class Image:
    """A picture as a tool's result."""

    mime_type: str
    data: bytes

    def to_json(self) -> dict[str, object]:
        """ImageContent::to_json."""
        encoded = base64.b64encode(self.data).decode()
        return {"type": "image", "mimeType": self.mime_type, "data": encoded}


ToolResult = bool | int | str | dict[str, Any] | Image | NoAnswer
ToolCallback = Callable[..., ToolResult | Awaitable[ToolResult]]


def dumps(value: object) -> str:
    """cJSON_PrintUnformatted: no spaces, UTF-8 left as it is."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool with a callable that receives its arguments by keyword.

    The callable returns bool, int, str, a dict (printed as JSON), an `Image`, or `NO_ANSWER`; or an
    awaitable of one. An exception becomes the firmware's error answer with the exception's text.
    While an awaitable runs, the device's main task is busy, as in the firmware.
    """

    name: str
    description: str
    properties: tuple[Property, ...]
    callback: ToolCallback
    user_only: bool = False
    input_schema: Mapping[str, object] | None = None  # replaces the one made of `properties`

    def to_json(self) -> dict[str, object]:
        """McpTool::to_json."""
        required = [item.name for item in self.properties if item.default is None]
        schema: dict[str, object] = {
            "type": "object",
            "properties": {item.name: item.to_json() for item in self.properties},
        }
        if required:
            schema["required"] = required
        listed: dict[str, object] = {
            "name": self.name,
            "description": self.description,
            "inputSchema": schema if self.input_schema is None else dict(self.input_schema),
        }
        if self.user_only:
            listed["annotations"] = {"audience": ["user"]}
        return listed

    def bind(self, arguments: Mapping[str, object]) -> dict[str, object] | str:
        """The keyword arguments of a call, or the text of the error (McpServer::DoToolCall).

        Raises:
            PropertyError: an integer out of its range.
        """
        if self.input_schema is not None:
            return dict(arguments)
        bound: dict[str, object] = {}
        for item in self.properties:
            value: Value | None = item.read(arguments)
            if value is None:
                value = item.default
            if value is None:
                return f"Missing valid argument: {item.name}"
            bound[item.name] = value
        return bound


def result_json(result: bool | int | str | dict[str, Any] | Image) -> str:
    """The result object of tools/call (McpTool::Call).

    An image is sent as JSON text in the key `image`, as by the firmware.
    """
    if isinstance(result, Image):
        item: dict[str, object] = {"type": "image", "image": dumps(result.to_json())}
    elif isinstance(result, bool):
        item = {"type": "text", "text": "true" if result else "false"}
    elif isinstance(result, dict):
        item = {"type": "text", "text": dumps(result)}
    else:
        item = {"type": "text", "text": str(result)}
    return dumps({"content": [item], "isError": False})
