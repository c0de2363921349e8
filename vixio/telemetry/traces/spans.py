"""What a trace of a turn consists of: one span for the turn, below it its stages and tool calls.

Times are those of the loop's clock, in seconds. Names of attributes are the conventions of
OpenTelemetry where there are any. No words of anybody, no arguments and no results of tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from vixio.core.metrics import ToolTiming
from vixio.core.session.events import TurnEnded

Value = str | int | bool | Sequence[str]

STAGES: Final = (
    "turn_end",
    "transcript",
    "first_token",
    "first_sentence",
    "first_audio",
    "first_frame",
    "playout_end",
)
"""The marks at which a stage ends; it began at the one before. ``turn_end`` begins with the end of
the voice, so it is the time that endpointing took."""

NAMES: Final = {"turn_end": "endpointing", "playout_end": "playout"}
"""Of stages that are not called as their mark."""

MOMENTS: Final = ("filler", "speech_start")
"""Marks beside the stages."""


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a turn. ``error``: why it failed, in a word; None: it did not."""

    name: str
    start: float
    end: float
    attributes: Mapping[str, Value] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, slots=True)
class TurnTrace:
    """The spans of one turn. ``moments``: times by name, within ``turn``."""

    turn: Span
    parts: Sequence[Span]
    moments: Mapping[str, float]


def trace_of(event: TurnEnded) -> TurnTrace:
    """Return the spans of a turn that has ended. It shares nothing with the record."""
    timeline = event.timeline
    marks = dict(timeline.marks)
    first = next((marks[name] for name in ("voice_end", "turn_end") if name in marks), None)
    start = min(marks.values(), default=event.at) if first is None else first
    outcome, cause = timeline.result
    attributes: dict[str, Value] = {
        "device.id": event.device_id,
        "session.id": event.session_id,
        "vixio.turn.id": event.turn_id,
        "vixio.turn.outcome": outcome,
    }
    if cause:
        attributes["vixio.turn.cause"] = cause
    if timeline.heard_ms is not None:
        attributes["vixio.turn.heard_ms"] = timeline.heard_ms
    if timeline.models:
        attributes["vixio.models"] = tuple(dict.fromkeys(use.model for use in timeline.models))
        attributes["gen_ai.usage.input_tokens"] = timeline.input_tokens
        attributes["gen_ai.usage.output_tokens"] = timeline.output_tokens
    error = (cause or outcome) if outcome in {"failed", "tool_failed"} else None
    end = max(event.at, *marks.values()) if marks else event.at
    return TurnTrace(
        Span("turn", start, end, attributes, error),
        [*_stages(start, marks), *map(_tool, timeline.tools)],
        {name: marks[name] for name in MOMENTS if name in marks},
    )


def _stages(start: float, marks: Mapping[str, float]) -> Sequence[Span]:
    spans: list[Span] = []
    before = start
    for mark in STAGES:
        if (at := marks.get(mark)) is None:
            continue
        if mark != "turn_end" or "voice_end" in marks:
            # A streaming recogniser may have the words before the end of the turn is decided.
            spans.append(Span(NAMES.get(mark, mark), min(before, at), at))
        before = max(before, at)
    return spans


def _tool(tool: ToolTiming) -> Span:
    attributes: dict[str, Value] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool.name,
        "vixio.tool.source": tool.source,
    }
    name = f"execute_tool {tool.name}"
    error = None if tool.success else "failed"
    return Span(name, tool.at - tool.seconds, tool.at, attributes, error)
