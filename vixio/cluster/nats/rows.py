"""Rows of numbers that a node repeats to the others: its devices, and counts of shared limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

Row = tuple[str, str]
"""A name and a key."""

DEVICE: Final = "@device"
"""The name of rows of connected devices; no limit has it."""

Change = tuple[str, str, int]
"""A row and its number; 0: there is none any more."""


class Table:
    """What the other nodes have, by node, and summed up."""

    def __init__(self) -> None:
        self._nodes: dict[str, dict[Row, int]] = {}
        self._sums: dict[Row, int] = {}
        self._where: dict[str, str] = {}

    def __len__(self) -> int:
        return sum(map(len, self._nodes.values()))

    def sum(self, name: str, key: str) -> int:
        """Return how many the nodes have of a row together."""
        return self._sums.get((name, key), 0)

    def of(self, node: str, name: str, key: str = "") -> int:
        """Return how many one node has of a row."""
        return self._nodes.get(node, {}).get((name, key), 0)

    def where(self, device_id: str) -> str:
        """Return the node of a device; empty: none has it."""
        return self._where.get(device_id, "")

    def change(self, node: str, changes: Iterable[Change]) -> None:
        """Take what has changed in a node."""
        rows = self._nodes.setdefault(node, {})
        for name, key, number in changes:
            self._put(node, rows, (name, key), number)

    def replace(self, node: str, whole: Iterable[Change]) -> None:
        """Take all that a node has, instead of what it had."""
        new = {(name, key): number for name, key, number in whole}
        rows = self._nodes.setdefault(node, {})
        for row in rows.keys() - new.keys():
            self._put(node, rows, row, 0)
        for row, number in new.items():
            self._put(node, rows, row, number)

    def drop(self, node: str) -> int:
        """Forget a node; return how many devices it had."""
        rows = self._nodes.get(node, {})
        devices = sum(name == DEVICE for name, _ in rows)
        for row in list(rows):
            self._put(node, rows, row, 0)
        self._nodes.pop(node, None)
        return devices

    def _put(self, node: str, rows: dict[Row, int], row: Row, number: int) -> None:
        before = rows.get(row, 0)
        if number:
            rows[row] = number
        else:
            rows.pop(row, None)
        name, key = row
        if name == DEVICE:
            if number:
                self._where[key] = node
            elif self._where.get(key) == node:
                del self._where[key]
        elif total := self._sums.get(row, 0) + number - before:
            self._sums[row] = total
        else:
            self._sums.pop(row, None)


def pages(rows: dict[Row, int], size: int) -> Iterator[list[Change]]:
    """Return all rows, ``size`` at a time; one empty page if there are none."""
    changes = [(name, key, number) for (name, key), number in rows.items()]
    for start in range(0, len(changes) or 1, size):
        yield changes[start : start + size]
