"""Serialises a device's history for its handover to another process, if no store is shared."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import astuple

from vixio.core.history import (
    AssistantMessage,
    History,
    HistoryItem,
    HistoryListener,
    ToolCallItem,
    ToolResultItem,
    Turn,
    UserMessage,
)

MAX_BYTES = 256 * 1024
"""Limit for one device. Twenty turns take about 8 KB; long tool results take more."""

_KINDS: dict[str, type[HistoryItem]] = {
    "user": UserMessage,
    "assistant": AssistantMessage,
    "call": ToolCallItem,
    "result": ToolResultItem,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


class Sharing(HistoryListener):
    """Calls ``changed`` for whatever has to be handed over."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed

    def turn_closed(self, turn: Turn) -> None:
        """There is a new turn."""
        self._changed()

    def turn_forgotten(self, turn: Turn) -> None:
        """There is one less."""
        self._changed()


def dump(history: History, max_bytes: int = MAX_BYTES) -> str:
    """Return the turns that have ended as text; the oldest are left out above ``max_bytes``."""
    kept: list[str] = []
    size = 0
    for turn in reversed(history.turns):
        if turn.closed:
            items = [(_NAMES[type(item)], *astuple(item)) for item in turn.items]
            text = json.dumps(items)  # ASCII: its characters are its bytes
            size += len(text)
            if size > max_bytes:
                break
            kept.append(text)
    return f'{{"summary":{json.dumps(history.summary)},"turns":[{",".join(reversed(kept))}]}}'


def load(history: History, text: str) -> None:
    """Replace what ``history`` has by what was dumped. Raises ValueError if that is no dump."""
    try:
        found = json.loads(text)
        turns = [[_KINDS[name](*values) for name, *values in items] for items in found["turns"]]
        summary = str(found["summary"])
    except (KeyError, TypeError) as error:
        raise ValueError("this is no history") from error
    history.clear()
    history.restore(turns, summary)
