"""Figures of the turns on record: what became of those of a day, the slowest, tokens by profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from vixio.data.conversations.records import TurnRecord
from vixio.data.database.database import Database

SLOWEST: Final = 10
"""Turns that are named."""

STEP_MS: Final = 10
"""Waits are counted in these steps: then the database adds up, instead of handing over each."""

# The index alone answers these. One thing at a time: the groups of all three at once are so many
# that it takes longer.
# The index alone answers these. One thing at a time: the groups of all three at once are so many
# that it takes longer.
_COUNTED: Final = (
    "SELECT {by} AS value, COUNT(*) AS turns{more} FROM turns "
    "WHERE at >= :start AND at < :end GROUP BY value"
)
_OUTCOMES: Final = _COUNTED.format(by="outcome", more="")
_WAITS: Final = _COUNTED.format(by=f"wait_ms / {STEP_MS}", more="")
_TOKENS: Final = _COUNTED.format(
    by="profile",
    more=", CAST(SUM(input_tokens) AS BIGINT) AS input"
    ", CAST(SUM(output_tokens) AS BIGINT) AS output",
)
_SLOWEST: Final = (
    "SELECT turns.*, COALESCE(devices.name, '') AS device_name FROM ("
    "SELECT session_id, turn FROM turns WHERE at >= :start AND at < :end AND wait_ms IS NOT NULL "
    "ORDER BY wait_ms DESC LIMIT :limit"
    ") AS slow JOIN turns ON turns.session_id = slow.session_id AND turns.turn = slow.turn "
    "LEFT JOIN devices ON devices.id = turns.device_id"
)

Part = Literal["waited", "heard", "thought", "tools", "spoke"]
"""Of a wait."""

_PIECES: Final[tuple[tuple[str, Part], ...]] = (
    ("turn_end", "waited"),
    ("transcript", "heard"),
    ("first_token", "thought"),
    ("first_sentence", "thought"),
    ("first_audio", "spoke"),
    ("first_frame", "spoke"),
)


@dataclass(slots=True)
class Figures:
    """Of the turns between two moments."""

    outcomes: Counter[str] = field(default_factory=Counter)
    """Turns by outcome, without its cause."""
    waits: Counter[int] = field(default_factory=Counter)
    """Turns by their wait, in steps of :data:`STEP_MS`."""
    tokens: dict[str, Counter[str]] = field(default_factory=dict)
    """By profile: ``input`` and ``output`` tokens of its ``turns``."""
    slowest: Sequence[tuple[TurnRecord, str]] = ()
    """The turns with the longest wait, and the names of their devices. Private."""

    def wait_ms(self, share: float) -> int | None:
        """Return the wait that this share of the turns did not exceed; None: none is known."""
        left = share * self.waits.total()
        for wait, turns in sorted(self.waits.items()):
            left -= turns
            if left <= 0:
                return wait * STEP_MS
        return None


async def read_figures(database: Database, start: int, end: int) -> Figures:
    """Return the figures of the turns that began from ``start`` to before ``end``, in
    milliseconds since 1970."""
    figures = Figures()
    async with database.transaction(write=False) as transaction:
        outcomes, waits, tokens = [
            await transaction.fetch(sql, start=start, end=end)
            for sql in (_OUTCOMES, _WAITS, _TOKENS)
        ]
        slow = await transaction.fetch(_SLOWEST, start=start, end=end, limit=SLOWEST)
    for row in outcomes:
        figures.outcomes[row["value"].partition(":")[0]] += row["turns"]
    figures.waits.update({row["value"]: row["turns"] for row in waits if row["value"] is not None})
    for row in tokens:
        names = ("turns", "input", "output")
        figures.tokens[row["value"]] = Counter({name: row[name] for name in names})
    figures.slowest = [(TurnRecord.of(row), row["device_name"]) for row in slow]
    return figures


def parts_of(turn: TurnRecord) -> Mapping[Part, int]:
    """Return what the wait went into, in milliseconds, as the console's bar of a turn has it."""
    marks = {"turn_end": 0, **turn.stages}
    spent: dict[Part, int] = dict.fromkeys(get_args(Part), 0)
    before = marks.get("voice_end", 0)
    for mark, part in _PIECES:
        if mark in marks:
            spent[part] += max(0, marks[mark] - before)
            before = max(before, marks[mark])
    # The tools run while the model's part of the time passes.
    spent["tools"] = min(spent["thought"], sum(tool.get("ms", 0) for tool in turn.tools))
    spent["thought"] -= spent["tools"]
    return spent
