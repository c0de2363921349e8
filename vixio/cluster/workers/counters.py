"""How many of what each worker has, summed up for the others."""

from __future__ import annotations

from collections.abc import Iterator

Row = tuple[str, str]
"""A count's name and key."""


class SharedCounters:
    """Counts by row and worker. A row without any count is not kept."""

    def __init__(self) -> None:
        self._rows: dict[Row, dict[int, int]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, worker: int, row: Row, count: int) -> bool:
        """Set how many of a row a worker has; return whether that changed anything."""
        counts = self._rows.setdefault(row, {})
        changed = counts.get(worker, 0) != count
        if count:
            counts[worker] = count
        else:
            counts.pop(worker, None)
        if not counts:
            del self._rows[row]
        return changed

    def others(self, worker: int, row: Row) -> int:
        """Return how many all workers but this one have."""
        counts = self._rows.get(row, {})
        return sum(counts.values()) - counts.get(worker, 0)

    def rows_of(self, worker: int) -> list[Row]:
        """Return the rows of which a worker has any."""
        return [row for row, counts in self._rows.items() if worker in counts]

    def seen_by(self, worker: int) -> Iterator[tuple[Row, int]]:
        """Yield every row of which the others have any, with how many."""
        for row in self._rows:
            if count := self.others(worker, row):
                yield row, count
