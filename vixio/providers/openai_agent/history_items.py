"""Converts a core history to the items of a model call, ordered and paired as APIs require."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Sequence

from vixio.core.history import (
    INTERRUPTED,
    AssistantMessage,
    HistoryItem,
    Summary,
    ToolCallItem,
    ToolResultItem,
    UserMessage,
)
from vixio.providers.openai_agent.model import Item

SUMMARY_HEAD = "[What was said earlier, in short:]"
"""The summary is a user message, not a system message: it contains text of tools and web pages,
which must not get the authority of the instructions."""


def to_input_items(history: Sequence[HistoryItem], text: str) -> list[Item]:
    """Return ``history`` and the new user ``text`` as Responses input items.

    Results follow their group of calls directly, wherever the history has them. A call without a
    result is closed, a result without a call is left out, and ids that a server used twice are made
    different, since APIs reject all of these.
    """
    answers: dict[str, deque[str]] = defaultdict(deque)
    for item in history:
        if isinstance(item, ToolResultItem):
            answers[item.call_id].append(item.output)
    items: list[Item] = []
    used: set[str] = set()
    group: list[tuple[str, str]] = []

    def close_group() -> None:
        items.extend(
            {"type": "function_call_output", "call_id": call_id, "output": output}
            for call_id, output in group
        )
        group.clear()

    for item in history:
        if isinstance(item, ToolCallItem):
            call_id = _unused(item.call_id or "call", used)
            arguments = item.arguments if _is_object(item.arguments) else "{}"
            items.append(
                {
                    "type": "function_call",
                    "call_id": call_id,
                    "name": item.name,
                    "arguments": arguments,
                }
            )
            known = answers[item.call_id]
            group.append((call_id, known.popleft() if known else INTERRUPTED))
            continue
        close_group()
        if isinstance(item, Summary):
            items.append({"role": "user", "content": f"{SUMMARY_HEAD} {item.text}"})
        elif isinstance(item, UserMessage):
            items.append({"role": "user", "content": item.text})
        elif isinstance(item, AssistantMessage) and item.text.strip():
            items.append({"role": "assistant", "content": item.text})
    close_group()
    items.append({"role": "user", "content": text})
    return items


def _unused(call_id: str, used: set[str]) -> str:
    name, number = call_id, 2
    while name in used:
        name, number = f"{call_id}_{number}", number + 1
    used.add(name)
    return name


def _is_object(arguments: str) -> bool:
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False
