"""Converts answers of MCP servers to tool results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vixio.core.errors import ToolError
from vixio.core.tools.types import ImagePart, SoundPart, ToolCallResult

if TYPE_CHECKING:
    from mcp.types import CallToolResult

MAX_TEXT = 1_000_000
"""Characters that are read; the runtime cuts results much shorter."""

MAX_IMAGES = 4
MAX_IMAGE_CHARS = 8_000_000
"""Base64 of six megabytes, which is more than the model APIs accept."""

MAX_SOUNDS = 4
MAX_SOUND_CHARS = 16_000_000
"""Base64 of twelve megabytes, of all sounds of an answer: twelve minutes of MP3."""

_MAX_MESSAGE = 1_000


def to_result(answer: CallToolResult) -> ToolCallResult:
    """Return a server's answer, with any kind of content or an error, as a tool result."""
    texts: list[str] = []
    images: list[ImagePart] = []
    sounds: list[SoundPart] = []
    room, sound_room = MAX_TEXT, MAX_SOUND_CHARS
    for item in answer.content:
        part = _part(item)
        if isinstance(part, ImagePart):
            if len(images) < MAX_IMAGES and len(part.data) <= MAX_IMAGE_CHARS:
                images.append(part)
                continue
            part = "[image left out: too many or too large]"
        elif isinstance(part, SoundPart):
            if len(sounds) < MAX_SOUNDS and len(part.data) <= sound_room:
                sounds.append(part)
                sound_room -= len(part.data)
                where = f": {part.title}: {part.address}" if part.address else ""
                part = f"[audio, {part.mime_type[:40]}{where}]"
            else:
                part = "[audio left out: too much or too large]"
        if part and room > 0:
            texts.append(part[:room])
            room -= len(part)
    text = "\n".join(texts)
    if answer.is_error:
        message = " ".join(text.split())[:_MAX_MESSAGE] or "the tool failed"
        return ToolCallResult.failure(ToolError("failed", message))
    if answer.structured_content is not None and room > 0:
        text = _with_structure(texts, answer.structured_content)
    return ToolCallResult(
        "", success=True, result=text or "done", images=tuple(images), sounds=tuple(sounds)
    )


def _part(item: Any) -> str | ImagePart | SoundPart:  # noqa: ANN401 - a union of the protocol's classes
    match item.type:
        case "text":
            return str(item.text)
        case "image":
            return ImagePart(item.data, item.mime_type)
        case "audio":
            return SoundPart(item.mime_type, item.data)
        case "resource_link":
            uri = str(item.uri)
            if _is_audio(item.mime_type) and uri.startswith(("http://", "https://")):
                return SoundPart(item.mime_type, address=uri, title=item.title or item.name)
            return f"[{item.name}: {item.uri}]"
        case "resource":
            return _embedded(item.resource)
    return f"[content of type {str(item.type)[:40]}]"


def _embedded(resource: Any) -> str | ImagePart | SoundPart:  # noqa: ANN401 - as above
    text = getattr(resource, "text", None)
    if text is not None:
        return str(text)
    mime_type = resource.mime_type or "unknown"
    if mime_type.startswith("image/"):
        return ImagePart(resource.blob, mime_type)
    if _is_audio(mime_type):
        return SoundPart(mime_type, resource.blob)
    return f"[{resource.uri}, {mime_type}: it cannot be passed on]"


def _is_audio(mime_type: str | None) -> bool:
    return (mime_type or "").startswith(("audio/", "application/ogg"))


def _with_structure(texts: Sequence[str], structure: Any) -> str:  # noqa: ANN401 - any JSON
    """Return text and structured content, without repeating what is in both.

    The protocol asks servers to send structured content as text too, and the SDKs wrap values that
    are not objects as ``{"result": …}``.
    """
    text = "\n".join(texts)
    if text:
        values = [structure]
        if isinstance(structure, dict) and structure.keys() == {"result"}:
            values.append(structure["result"])
        if any(_says(text, value) or _items_say(texts, value) for value in values):
            return text
    return "\n".join(filter(None, (text, json.dumps(structure, ensure_ascii=False))))


def _says(text: str, value: object) -> bool:
    if isinstance(value, str):
        return text == value
    try:
        return bool(json.loads(text) == value)
    except (ValueError, RecursionError):
        return False


def _items_say(texts: Sequence[str], value: object) -> bool:
    """Whether each item of a list is in a text of its own."""
    return isinstance(value, list) and len(value) == len(texts) and all(map(_says, texts, value))
