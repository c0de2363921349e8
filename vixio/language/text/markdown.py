"""Turns streamed Markdown into plain text: words, punctuation, placeholders and breaks.

Every step depends on the characters before it and a bounded look ahead, never on where a delta
ends: a step that needs more text waits. So the result does not depend on how the text was split,
and a construct that stays open can hold back only a bounded amount of text.

This is not a Markdown renderer: markers are recognised by the adjacent characters and removed
without pairing them, which is all that a stream allows and speech needs. Code blocks are left out
(a break takes their place), table cells are joined by commas, inline code and URLs become atoms.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from vixio.language.text.atoms import Atoms
from vixio.language.text.characters import PLAIN_CHARACTERS
from vixio.language.text.inline import InlineStripper
from vixio.language.text.scan import Scan

_HOLD: Final = 120
"""Characters of a line that may be read before its kind is known."""
_RULE: Final = re.compile(r"[-*_=:| ]*")
_FENCE: Final = re.compile(r"`{3,}|~{3,}")
_BULLETS: Final = "-*+•●▪◦‣"
_TASK: Final = re.compile(r"\[[ xX]\] ")
_HEADING: Final = re.compile(r"#{1,6}(?=[ \n])")


class MarkdownStripper:
    """Turns deltas into plain text as soon as it is certain. One per stretch of model text."""

    def __init__(self, atoms: Atoms) -> None:
        self._inline = InlineStripper(atoms)
        self._buffer = ""
        self._line_start = True
        self._newline = False
        self._item = False
        self._fence = ""
        self._beginnings: tuple[tuple[str, Callable[[Scan], bool]], ...] = (
            ("`~", self._fence_or_words),
            ("-*_=:|", self._rule_or_marker),
            ("#", self._heading_or_words),
            (_BULLETS, self._item_or_words),
            ("[", self._task_or_words),
        )

    def feed(self, delta: str) -> str:
        """Return the plain text that ``delta`` completes."""
        self._buffer += delta.translate(PLAIN_CHARACTERS)
        return self._run(final=False)

    def finish(self) -> str:
        """Return the rest; no text follows."""
        return self._run(final=True)

    def _run(self, *, final: bool) -> str:
        scan = Scan(self._buffer, final=final)
        while scan.at < len(scan.text):
            if self._fence:
                moved = self._in_fence(scan)
            elif self._line_start:
                moved = self._begin_line(scan)
            else:
                moved = self._within_line(scan)
            if not moved:
                break
        self._buffer = scan.text[scan.at :]
        return self._inline.drain()

    def _within_line(self, scan: Scan) -> bool:
        if scan.text[scan.at] != "\n":
            if not self._inline.step(scan):
                return False
            if self._inline.opens_fence:
                self._open_fence(scan, self._inline.opens_fence)
            return True
        scan.at += 1
        self._line_start = self._newline = True
        if self._inline.ends_with_break:
            self._break()
        else:
            self._inline.put_space()
        return True

    def _break(self) -> None:
        self._inline.put_break()
        self._newline = False

    # -- the beginning of a line ---------------------------------------------------------------

    def _begin_line(self, scan: Scan) -> bool:
        text = scan.text
        if text[scan.at] == " ":
            scan.at += 1
            return True
        first = text[scan.at]
        if first == "\n":
            self._break()
            self._item = False
            scan.at += 1
            return True
        if first == ">":
            scan.at += 1
            return True
        for beginnings, begin in self._beginnings:
            if first in beginnings:
                return begin(scan)
        return self._words(scan)

    def _words(self, scan: Scan) -> bool:
        """Begin a line of prose; a lower-case letter continues the sentence."""
        if self._newline and not scan.text[scan.at].islower():
            self._break()
        self._line_start = self._newline = self._item = False
        return True

    def _fence_or_words(self, scan: Scan) -> bool:
        text, at = scan.text, scan.at
        if len(text) < at + 3 and text[at:] == text[at] * (len(text) - at) and not scan.final:
            return False
        fence = _FENCE.match(text, at, at + 20)
        if not fence:
            return self._words(scan)
        if fence.end() == len(text) and not scan.final:
            return False
        if fence[0][0] == "~":
            self._open_fence(scan, fence[0])
            return True
        return self._words(scan)  # backticks: inline code if they close on the same line

    def _rule_or_marker(self, scan: Scan) -> bool:
        text, at = scan.text, scan.at
        rule = _RULE.match(text, at, at + _HOLD)
        end = rule.end() if rule else at
        if end == len(text) and end < at + _HOLD and not scan.final:
            return False
        whole = end == len(text) or text[end] == "\n" or end == at + _HOLD
        if whole and end - at - text.count(" ", at, end) >= 3:
            self._break()
            self._inline.end_line()
            self._line_start = self._item = False
            scan.at = end
            return True
        if text[at] == "|":
            self._break()
            self._line_start = self._item = False
            self._inline.begin_row()
            scan.at += 1
            return True
        return self._item_or_words(scan)

    def _heading_or_words(self, scan: Scan) -> bool:
        run = scan.run("#", 7)
        if run is None:
            return False
        if _HEADING.match(scan.text, scan.at) or (run <= 6 and scan.at + run == len(scan.text)):
            self._break()
            self._line_start = self._item = False
            self._inline.begin_heading()
            scan.at += run
            return True
        return self._words(scan)

    def _item_or_words(self, scan: Scan) -> bool:
        following = scan.peek(1)
        if following is None:
            return False
        if scan.text[scan.at] not in _BULLETS or following not in (" ", "\n", ""):
            return self._words(scan)
        self._break()
        self._item = True
        scan.at += 1
        return True

    def _task_or_words(self, scan: Scan) -> bool:
        if not self._item:
            return self._words(scan)
        box = scan.text[scan.at : scan.at + 4]
        if len(box) < 4 and not scan.final and _TASK.match(box + "[ ] "[len(box) :]):
            return False
        self._item = False
        if _TASK.match(box):
            scan.at += 4
        return True

    # -- code blocks ---------------------------------------------------------------------------

    def _open_fence(self, scan: Scan, fence: str) -> None:
        """Begin a code block; the rest of this line is the name of a language."""
        self._break()
        self._fence = fence
        self._line_start = False
        self._inline.end_line()
        scan.at += len(fence)

    def _in_fence(self, scan: Scan) -> bool:
        text, at = scan.text, scan.at
        newline = text.find("\n", at)
        end = len(text) if newline < 0 else newline
        if self._line_start:
            line = text[at:end].strip()
            closes = len(line) >= len(self._fence) and not line.strip(self._fence[0])
            undecided = newline < 0 and not line.strip(self._fence[0])
            if undecided and not scan.final and end - at < _HOLD:
                return False
            if closes:
                self._fence = ""
        self._line_start = newline >= 0
        scan.at = end + (newline >= 0)
        return True
