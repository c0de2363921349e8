"""Turns and keys for the tests of the stores."""

from __future__ import annotations

from vixio.core.history import (
    AssistantMessage,
    HistoryItem,
    ToolCallItem,
    ToolResultItem,
    UserMessage,
)
from vixio.data.memory.records import Remembered, device_key

A, B = device_key("02:00:00:00:00:0a"), device_key("02:00:00:00:00:0b")

NOTHING = Remembered([])

TURN: list[HistoryItem] = [
    UserMessage("turn the lamp on, 请"),
    ToolCallItem("call_1", "self.lamp.turn_on", '{"level": 3}'),
    ToolResultItem("call_1", "true"),
    AssistantMessage("It is on. 🙂"),
]


def said(number: int) -> list[HistoryItem]:
    return [UserMessage(f"question {number}"), AssistantMessage(f"answer {number}")]
