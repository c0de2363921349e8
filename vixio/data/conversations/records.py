"""A turn on record, and a conversation as a list shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

from vixio.data.database.database import Row, Value

MAX_WORDS: Final = 8_000
"""Characters of what was heard or said."""

MAX_TOOL_WORDS: Final = 2_000
"""Characters of a tool's arguments, and of its answer."""

MAX_TOOLS: Final = 50

SOUND_MS: Final = (
    "COALESCE((SELECT size FROM turn_sounds WHERE turn_id = turns.id), 0) / 32 AS sound_ms"
)
"""A column of a query of the table ``turns``; the sound has 32 bytes a millisecond."""

_JSON: Final = ("stages", "tools", "models")


@dataclass(slots=True)
class TurnRecord:
    """A turn that is over. Private: it has the user's words."""

    device_id: str
    session_id: str
    turn: int
    at: int
    """When it began, in milliseconds since 1970."""
    heard: str = ""
    """What the user said, or typed."""
    guess: str = ""
    """What the recogniser may have heard of words that it declined. Perhaps nobody said it."""
    said: str = ""
    """What was heard of the answer, or of a typed conversation read."""
    outcome: str = ""
    """As :attr:`~vixio.core.metrics.TurnTimeline.outcome`."""
    error: str = ""
    stages: Mapping[str, int] = field(default_factory=dict)
    """Milliseconds after the end of the user's turn (:data:`vixio.core.metrics.MARKS`)."""
    tools: list[dict[str, Any]] = field(default_factory=list)
    """``name``, ``source``, ``arguments``, ``output``, ``success``, ``error``: its type, ``ms``."""
    models: list[dict[str, Any]] = field(default_factory=list)
    """``model``, ``input_tokens``, ``output_tokens`` and so on, one for each answer of a model."""
    profile: str = ""
    """The name of the device's profile at the end of the turn; empty: it had none."""
    sound_ms: int = 0
    """How much of what the user said is there as sound; of a turn that was read."""

    @property
    def wait_ms(self) -> int | None:
        """From the end of the user's words to the first sound of the answer; None: unknown."""
        if "turn_end" not in self.stages or "first_frame" not in self.stages:
            return None
        return self.stages["first_frame"] - self.stages.get("voice_end", 0)

    @property
    def id(self) -> str:
        """Its key: a turn is written once."""
        return f"{self.session_id}/{self.turn}"

    def row(self) -> dict[str, Value]:
        """Return the values of its columns."""
        values: dict[str, Any] = {"id": self.id, **asdict(self)}
        for name in _JSON:
            values[name] = json.dumps(values[name], ensure_ascii=False)
        for name in ("input_tokens", "output_tokens"):
            values[name] = sum(use.get(name, 0) for use in self.models)
        return {**values, "wait_ms": self.wait_ms}

    @classmethod
    def of(cls, row: Row) -> TurnRecord:
        """Read a row of the table ``turns``."""
        values = {each.name: row[each.name] for each in fields(cls) if each.name in row}
        return cls(**(values | {name: json.loads(values[name]) for name in _JSON}))


@dataclass(frozen=True, slots=True)
class ConversationRecord:
    """The turns of one connection. Times are milliseconds since 1970."""

    session_id: str
    device_id: str
    began_at: int
    last_at: int
    turns: int

    @classmethod
    def of(cls, row: Row) -> ConversationRecord:
        """Read a row of a list."""
        return cls(**row)
