"""How many of what each process has: the coordinator's tables, summed up for the others."""

from __future__ import annotations

from collections.abc import Iterator

Row = tuple[str, str]
"""Table and key."""


class SharedCounters:
    """Counts by table, key and process. A row without any count is not kept."""

    def __init__(self) -> None:
        self._rows: dict[Row, dict[int, int]] = {}

    def put(self, process: int, row: Row, count: int) -> bool:
        """Set what a process has of a row; return whether that changed anything."""
        counts = self._rows.setdefault(row, {})
        changed = counts.get(process, 0) != count
        if count:
            counts[process] = count
        else:
            counts.pop(process, None)
        if not counts:
            del self._rows[row]
        return changed

    def others(self, process: int, row: Row) -> int:
        """Return how many all processes but this one have."""
        counts = self._rows.get(row, {})
        return sum(counts.values()) - counts.get(process, 0)

    def rows_of(self, process: int) -> list[Row]:
        """Return the rows that a process has something of."""
        return [row for row, counts in self._rows.items() if process in counts]

    def seen_by(self, process: int) -> Iterator[tuple[Row, int]]:
        """Yield every row that the others have something of, with how many."""
        for row in self._rows:
            if count := self.others(process, row):
                yield row, count
