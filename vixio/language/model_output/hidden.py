"""One stretch of reasoning, up to where it is closed: on every level, if it is nested."""

from __future__ import annotations

import re
from typing import Final

from vixio.language.model_output.markers import PARTIAL, Span

MAX_HELD: Final = 65_536
"""Characters that may be given back."""

_CALL_OPENING: Final = re.compile(
    r"<(?:[\w-]+:)?(?:tool_calls?|function_calls?)>|<[|｜]tool[_▁]calls?[_▁]?(?:begin|section)?"
)


class Hidden:
    """Reads and drops what stands between the markers of ``span``; ``opening`` is the first."""

    def __init__(self, span: Span, opening: str) -> None:
        self.closed = False
        self._span = span
        self._opening = opening
        self._depth = 1
        self._held: list[str] = []
        self._length = 0
        self._resume = 0
        """How much of what is held was read when one level was closed last."""

    def read(self, text: str, at: int, *, final: bool) -> int:
        """Return up to where ``text`` is read."""
        while not self.closed:
            close = self._span.closing.search(text, at)
            opening = self._span.opening.search(text, at)
            if opening and not (close and close.start() < opening.start()):
                self._depth += 1
                at = self._hold(text, at, opening.end())
            elif close:
                self._depth -= 1
                at = self._hold(text, at, close.end())
                self._resume = len(self._held)
                self.closed = self._depth == 0
            else:
                keep = 0 if final else PARTIAL
                return self._hold(text, at, max(at, len(text) - keep))
        return at

    def _hold(self, text: str, at: int, end: int) -> int:
        if self._length < MAX_HELD:
            self._held.append(text[at:end])
            self._length += end - at
        return end

    def given_back(self, *, said: bool) -> tuple[str, str]:
        """Return what was no reasoning, since it was not closed: a marker, and the text behind it.

        ``said``: whether the answer has begun before it; else it was cut off in its reasoning.
        """
        if self._resume:  # a level within was only mentioned
            return "", "".join(self._held[self._resume :])
        text = "".join(self._held)
        if call := _CALL_OPENING.search(text):  # some models call before they close it
            return "", text[call.start() :]
        return (self._opening, text) if said else ("", "")
