"""The calls of an answer, made fit to be run and to go into the next request. Cheap to import."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final
from uuid import uuid4

from vixio.core.tools.names import safe_tool_name
from vixio.core.tools.repairs import read_objects
from vixio.providers.openai_agent.model import Item, ModelTool
from vixio.providers.openai_agent.offered import OfferedTools

_ACCEPTED: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


def settled(items: Sequence[Item], before: Sequence[Item], offered: OfferedTools) -> Sequence[Item]:
    """Return an answer's ``items`` with calls by offered names, one call each, ids of their own.

    ``before``: the conversation so far. Some servers number the calls of each answer from zero, and
    APIs refuse an id that comes twice.
    """
    seen = {item["call_id"] for item in before if item.get("type") == "function_call"}
    told: list[Item] = []
    for item in items:
        if item.get("type") != "function_call":
            told.append(item)
            continue
        for made in _made(item, offered.find(item["name"])):
            if not made["call_id"] or made["call_id"] in seen:
                made["call_id"] = f"call_{uuid4().hex[:24]}"
            seen.add(made["call_id"])
            told.append(made)
    return told


def sendable(items: Sequence[Item]) -> Sequence[Item]:
    """Return the conversation with arguments that are JSON objects.

    Servers read the arguments of earlier calls, and refuse every further request of a conversation
    in which they cannot (vLLM, llama.cpp, SGLang, Ollama).
    """
    if all(item.get("type") != "function_call" or _object(item["arguments"]) for item in items):
        return items
    return [
        {**item, "arguments": _as_object(item["arguments"])}
        if item.get("type") == "function_call"
        else item
        for item in items
    ]


def _made(item: Item, tool: ModelTool | None) -> Sequence[Item]:
    """Return the calls that ``item`` stands for: usually itself, under the name of its tool."""
    if tool is None:
        name = item["name"].strip()
        return [{**item, "name": name if _ACCEPTED.fullmatch(name) else safe_tool_name(name)}]
    first = {**item, "name": tool.name}
    objects = () if _object(item["arguments"]) else read_objects(item["arguments"])
    if len(objects) < 2:
        return [first]
    from vixio.core.tools.arguments import fits

    if not all(fits(tool.definition, each) for each in objects):
        return [first]
    texts = [json.dumps(each, ensure_ascii=False) for each in objects]
    more = {"type": "function_call", "call_id": "", "name": tool.name}
    return [{**first, "arguments": texts[0]}, *({**more, "arguments": text} for text in texts[1:])]


def _object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _as_object(text: str) -> str:
    if _object(text):
        return text
    objects = read_objects(text)
    return json.dumps(objects[0], ensure_ascii=False) if len(objects) == 1 else "{}"
