"""Reading what a device's tool server answers: pages of tools, results of calls, errors.

Pure functions over parsed JSON. Devices get these wrong in many ways, so nothing here raises on a
wrong shape: a tool that cannot be read is left out, a result that cannot be read is a failure.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from vixio.core.errors import ToolError
from vixio.core.tools.types import EMPTY_SCHEMA, ImagePart, JsonObject, ToolCaller, ToolDefinition

MAX_NAME_CHARS = 256
"""A longer tool name is a mistake of the device, or an attack on the model's context."""

MAX_DESCRIPTION_CHARS = 2_000
"""What is longer is cut: a description is read by the model at every turn."""

MAX_SCHEMA_CHARS = 8_000
"""A tool with a larger schema (as JSON) is left out; a whole page of the firmware has no more
(mcp_server.cc, GetToolsList)."""


@dataclass(frozen=True, slots=True)
class ToolPage:
    """One answer to ``tools/list``: ``skipped`` counts entries that are no tools.

    ``cursor`` asks for the next page; empty at the end. ``mistakes``: name, or place in the page,
    of each skipped entry, and what is wrong with it.
    """

    tools: tuple[ToolDefinition, ...]
    skipped: int
    cursor: str
    mistakes: tuple[tuple[str, str], ...] = ()


def parse_page(
    result: Any,  # noqa: ANN401  any JSON value
    client: ToolCaller,
    *,
    user: bool = False,
) -> ToolPage | None:
    """Return the tools for the model in a ``tools/list`` result, None if it is none.

    ``user``: those for the user alone instead.
    """
    if not isinstance(result, dict) or not isinstance(result.get("tools"), list):
        return None
    tools: list[ToolDefinition] = []
    mistakes: list[tuple[str, str]] = []
    for number, entry in enumerate(result["tools"], 1):
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_CHARS:
            mistakes.append((f"entry {number}", "its name is missing, no text or too long"))
        elif _is_for_user_only(entry) == user:
            description = entry.get("description")
            parameters = object_schema(entry.get("inputSchema"))
            if len(json.dumps(parameters, ensure_ascii=False)) > MAX_SCHEMA_CHARS:
                reason = f"its schema has more than {MAX_SCHEMA_CHARS} characters"
                mistakes.append((name, reason))
                continue
            tools.append(
                ToolDefinition(
                    name=name,
                    description=description[:MAX_DESCRIPTION_CHARS]
                    if isinstance(description, str)
                    else "",
                    parameters=parameters,
                    source="device",
                    caller=client,
                )
            )
    cursor = result.get("nextCursor")
    cursor = cursor if isinstance(cursor, str) else ""
    return ToolPage(tuple(tools), len(mistakes), cursor, tuple(mistakes))


def _is_for_user_only(entry: JsonObject) -> bool:
    """Return whether the tool is for the user only, not for the model (mcp_server.h, McpTool)."""
    annotations = entry.get("annotations")
    return isinstance(annotations, dict) and annotations.get("audience") == ["user"]


def object_schema(schema: Any) -> JsonObject:  # noqa: ANN401  any JSON value
    """Return ``schema`` whole, mended only as far as model APIs demand an object schema."""
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        return dict(EMPTY_SCHEMA)
    whole = {"type": "object", **schema}
    if not isinstance(whole.get("properties"), dict):
        whole["properties"] = {}
    return whole


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """A result of ``tools/call``: its text items joined by newlines, its images, its verdict."""

    text: str
    images: tuple[ImagePart, ...]
    is_error: bool


def parse_answer(result: Any) -> ToolAnswer:  # noqa: ANN401  any JSON value
    """Read a ``tools/call`` result. Raises ToolError if it has neither content nor structure."""
    if not isinstance(result, dict):
        raise ToolError("failed", "the device answered with a malformed result")
    is_error = result.get("isError") is True
    content = result.get("content")
    if not isinstance(content, list):
        if "structuredContent" in result:
            text = json.dumps(result["structuredContent"], ensure_ascii=False)
            return ToolAnswer(text, (), is_error)
        raise ToolError("failed", "the device answered with a malformed result")
    texts: list[str] = []
    images: list[ImagePart] = []
    for item in content:
        if not isinstance(item, dict):
            continue
        if item.get("type") == "image":
            image = _parse_image(item)
            if image is not None:
                images.append(image)
        else:
            words = _parse_text(item)
            if words is not None:
                texts.append(words)
    return ToolAnswer("\n".join(texts), tuple(images), is_error)


def _parse_text(item: JsonObject) -> str | None:
    """Return the words of a ``text`` item or of an embedded text resource."""
    holder = item.get("resource") if item.get("type") == "resource" else item
    text = holder.get("text") if isinstance(holder, dict) else None
    return text if isinstance(text, str) else None


def _parse_image(item: JsonObject) -> ImagePart | None:
    """Return an image as MCP writes it, or as the firmware does.

    The firmware puts the whole item, as JSON text, into a field ``image`` (mcp_server.h,
    McpTool::Call and ImageContent::to_json).
    """
    nested = item.get("image")
    if isinstance(nested, str):
        try:
            parsed = json.loads(nested)
        except (ValueError, RecursionError):  # not the firmware's form
            return None
        item = parsed if isinstance(parsed, dict) else {}
    data, mime_type = item.get("data"), item.get("mimeType")
    if not isinstance(data, str) or not data:
        return None
    return ImagePart(data, mime_type if isinstance(mime_type, str) else "image/jpeg")


# What the firmware says (mcp_server.cc, DoToolCall and ParseMessage); its errors have no code.
_NOT_FOUND = ("Unknown tool", "Method not implemented")
_INVALID = (
    "Missing valid argument",
    "Invalid arguments",
    "Missing name",
    "Missing params",
    "Value ",
)


def parse_error(error: Any) -> ToolError:  # noqa: ANN401  any JSON value
    """Return a JSON-RPC error, code or not, message or not, as the tool error that it means."""
    code = error.get("code") if isinstance(error, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    if not isinstance(message, str) or not message:
        message = "the device reported an error" if message is None else json.dumps(message)
    if code == -32601 or message.startswith(_NOT_FOUND):
        return ToolError("not_found", message)
    if code == -32602 or message.startswith(_INVALID):
        return ToolError("invalid_arguments", message)
    return ToolError("failed", message)
