"""What models write into their text: calls, reasoning, control tokens.

The rows are those of the reader's own table, as far as their words are the same spoken.
"""

from __future__ import annotations

from typing import Final

from tests.quirks.quirk import CHINESE, LAMP, SAID, VOLUME, Quirk, done
from tests.support.llm_server import text
from tests.unit.language.model_output import rows
from tests.unit.language.model_output.rows import Row

_REAL: Final = {
    rows.LAMP: LAMP,
    LAMP: LAMP,
    rows.VOLUME: VOLUME,
    rows.SAY: rows.SAY,
    rows.CHINESE: CHINESE,
}


def _quirk(row: Row, name: str) -> Quirk:
    goes_on = bool(row.calls or row.unread)
    answers = [text(*row.written)]
    said = row.said.split()
    if goes_on:
        answers.append(done())
        said += SAID.split()
    return Quirk(
        name,
        answers=answers,
        tools={rows.SAY: rows.TOOLS[rows.SAY]},
        said=" ".join(said),
        made=[(_REAL[tool], arguments) for tool, arguments in row.calls],
        requests=1 + goes_on,
    )


QUIRKS = [
    _quirk(row, f"{number} {row.written[:30]!a}")
    for number, row in enumerate((*rows.CALLS, *rows.REASONING, *rows.TOKENS))
    if (row.said or row.calls or row.unread) and not any(mark in row.said for mark in "<`{[")
]
