"""A position in text of which only the beginning has been received."""

from __future__ import annotations

import re
from functools import cache


@cache
def _any_of(wanted: str) -> re.Pattern[str]:
    return re.compile(f"[{re.escape(wanted)}\n]")


class Scan:
    """A position in the text received so far."""

    def __init__(self, text: str, *, final: bool) -> None:
        self.text = text
        self.at = 0
        self.final = final

    def peek(self, distance: int) -> str | None:
        """Return the character ``distance`` ahead; "" after the end; None: not received yet."""
        index = self.at + distance
        if index < len(self.text):
            return self.text[index]
        return "" if self.final else None

    def run(self, character: str, limit: int) -> int | None:
        """Return how often ``character`` is repeated here, up to ``limit``; None: not known yet."""
        end = self.at
        stop = min(len(self.text), self.at + limit)
        while end < stop and self.text[end] == character:
            end += 1
        if end == len(self.text) and end < self.at + limit and not self.final:
            return None
        return end - self.at

    def find(self, wanted: str, start: int, limit: int) -> int | None:
        """Return the first position of any character of ``wanted``, or of a newline.

        -1: there is none within ``limit`` characters from ``start``; None: not known yet.
        """
        match = _any_of(wanted).search(self.text, start, start + limit)
        if match:
            return match.start()
        return None if len(self.text) < start + limit and not self.final else -1
