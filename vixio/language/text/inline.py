"""Markup within a line: emphasis, links, code, tags, entities, URLs, emoji, table cells."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from vixio.language.text.asides import ASIDE_STARTS, read_aside
from vixio.language.text.atoms import Atoms
from vixio.language.text.characters import (
    BREAK,
    CLOSERS,
    EMOJI_CLUSTER,
    EMOJI_SLOT,
    EMOJI_START,
    FULL_STOPS,
    STRAY_MARKS,
    TERMINALS,
)
from vixio.language.text.constructs import (
    Reading,
    host_of,
    is_literal_marker,
    read_code,
    read_entity,
    read_label,
    read_tag,
    read_target,
    read_url,
)
from vixio.language.text.scan import Scan

_RUN: Final = 16
"""A longer run of one marker is read as several runs."""
_CELL_GAP: Final = 120

# Letters with which a URL, a citation or an emoticon begins, but only at the beginning of a word.
_WORD_STARTS: Final = "".join({*"hHwW", *filter(str.isalpha, ASIDE_STARTS)})
_SPECIAL: Final = re.escape("".join({*"*_~`\\<&[]!|#", *ASIDE_STARTS} - {*_WORD_STARTS}))
_PLAIN: Final = re.compile(
    rf"(?:[^\s{_SPECIAL}0-9{_WORD_STARTS}{EMOJI_START}{STRAY_MARKS}]"
    rf"|(?<=[A-Za-z0-9])[{_WORD_STARTS}]|[0-9](?![\ufe0f\u20e3]|\Z))+"
)
_KEPT: Final = 16  # written characters, to judge what follows them
_ANY_EMOJI: Final = re.compile(f"[{EMOJI_START}]")
_MARKS: Final = re.compile(f"[{TERMINALS}{FULL_STOPS}{re.escape(CLOSERS)}]")
_EMOJI_SLOTS: Final = re.compile(f"[{EMOJI_SLOT}]")
_NO_SPACE_BEFORE: Final = (*".,!?;:…，。！？；：、)）", "")
_PUNCTUATION: Final = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_BLOCK_TAGS: Final = frozenset(
    {
        "break",
        "br",
        "p",
        "div",
        "li",
        "ul",
        "ol",
        "tr",
        "table",
        "hr",
        "pre",
        "blockquote",
        "section",
    }
    | {f"h{level}" for level in range(1, 7)}
)


class InlineStripper:
    """Writes the plain text of lines. A space is held back until text follows it."""

    def __init__(self, atoms: Atoms) -> None:
        self._atoms = atoms
        self._out: list[str] = []
        self._last = self._recent = BREAK
        self._space = False
        self._heading = False
        self._row = False
        self.opens_fence = ""
        self._steps: dict[str, Callable[[Scan], bool]] = {
            "*": self._emphasis,
            "_": self._emphasis,
            "~": self._strike,
            "`": self._code,
            "\\": self._escape,
            "<": self._tag,
            "&": self._entity,
            "[": self._bracket,
            "]": self._orphan_bracket,
            "!": self._image,
            "|": self._pipe,
            "#": self._hash,
            **dict.fromkeys("hHwW", self._url),
            **dict.fromkeys("0123456789", self._digit),
            **dict.fromkeys(STRAY_MARKS, self._stray),
        }
        for character in ASIDE_STARTS:
            otherwise = self._steps.get(character, self._literal)
            self._steps[character] = self._aside_or(otherwise)

    # -- writing -------------------------------------------------------------------------------

    def drain(self) -> str:
        """Return what was written since the last call."""
        text = "".join(self._out)
        self._out.clear()
        return text

    def put_break(self) -> None:
        """Write the end of a block, once, and reset the kind of line."""
        if self._last != BREAK:
            self._out.append(BREAK)
        self._last = self._recent = BREAK
        self._space = False
        self.end_line()

    def put_space(self) -> None:
        """Write a space, in most places together with the text that follows it.

        After a punctuation mark it is written at once, since it may complete the sentence.
        """
        if self._row or not _MARKS.match(self._last):
            self._space = True
            return
        self._out.append(" ")
        self._last = " "
        self._recent += " "

    def begin_heading(self) -> None:
        """Begin a heading; the end of its line ends the block."""
        self._heading = True

    def begin_row(self) -> None:
        """Begin a table row: pipes divide cells, and the end of its line ends the block."""
        self._row = True

    def end_line(self) -> None:
        """Reset the kind of line."""
        self._heading = self._row = False

    @property
    def ends_with_break(self) -> bool:
        """Whether the end of this line ends a block, whatever follows."""
        return self._heading or self._row

    @property
    def _before(self) -> str:
        return " " if self._space else self._last

    def _put(self, text: str) -> None:
        if self._space and self._last not in (" ", BREAK):
            self._out.append(" ")
            self._recent += " "
        self._space = False
        self._out.append(text)
        self._last = text[-1]
        self._recent = (self._recent + text)[-_KEPT:]

    def _literal(self, scan: Scan, length: int = 1) -> bool:
        self._put(scan.text[scan.at : scan.at + length])
        scan.at += length
        return True

    # -- steps: each moves the scan, or returns False to wait for more ---------------------------

    def step(self, scan: Scan) -> bool:
        """Read the next piece of the line; False if more text is needed to decide."""
        self.opens_fence = ""
        plain = _PLAIN.match(scan.text, scan.at)
        if plain:
            return self._literal(scan, plain.end() - scan.at)
        character = scan.text[scan.at]
        if character == " ":
            self.put_space()
            scan.at += 1
            return True
        special = self._steps.get(character)
        if special:
            return special(scan)
        return self._emoji(scan)  # nothing else is left

    def _aside_or(self, otherwise: Callable[[Scan], bool]) -> Callable[[Scan], bool]:
        def step(scan: Scan) -> bool:
            aside = read_aside(scan, f"{self._recent} " if self._space else self._recent)
            if aside is None:
                return False
            if aside.end < 0:
                return otherwise(scan)
            if aside.content is not None:
                self._put(self._atoms.keep(aside.content))
            elif aside.emoji is not None:
                self._put(self._atoms.put_emoji(aside.emoji))
            elif aside.text:
                self._put(aside.text)
            elif scan.text[aside.end : aside.end + 1] in _NO_SPACE_BEFORE:
                self._space = False
            scan.at = aside.end
            return True

        return step

    def _emoji(self, scan: Scan) -> bool:
        cluster = EMOJI_CLUSTER.match(scan.text, scan.at)
        if (cluster.end() if cluster else scan.at + 1) >= len(scan.text) and not scan.final:
            return False
        if cluster:
            self._put(self._atoms.put_emoji(cluster[0]))
            scan.at = cluster.end()
            return True
        return self._literal(scan)

    def _digit(self, scan: Scan) -> bool:
        for distance in (1, 2):
            following = scan.peek(distance)
            if following is None:
                return False
            if following == "\u20e3":
                return self._emoji(scan)
            if following != "\ufe0f":
                break
        return self._literal(scan)

    def _stray(self, scan: Scan) -> bool:
        if scan.text[scan.at] == "\u200d" and not _EMOJI_SLOTS.match(self._last):
            return self._literal(scan)
        scan.at += 1
        return True

    def _emphasis(self, scan: Scan) -> bool:
        marker = scan.text[scan.at]
        if marker == "*":
            keycap = scan.peek(1)
            if keycap is None:
                return False
            if keycap and keycap in "\ufe0f\u20e3":
                return self._digit(scan)
        run = scan.run(marker, _RUN)
        if run is None:
            return False
        following = scan.peek(run)
        if following is None:
            return False
        if is_literal_marker(marker, run, self._before, following):
            return self._literal(scan, run)
        scan.at += run
        return True

    def _strike(self, scan: Scan) -> bool:
        run = scan.run("~", _RUN)
        if run is None:
            return False
        if run == 1:
            return self._literal(scan)
        scan.at += run
        return True

    def _code(self, scan: Scan) -> bool:
        run = scan.run("`", _RUN)
        code = read_code(scan, run) if run else None
        if run is None or code is None:
            return False
        if code.end >= 0:
            if code.text:
                self._put(self._atoms.put(code.text, code.text))
            scan.at = code.end
        elif code.text:
            self.opens_fence = code.text
        else:
            scan.at += run
        return True

    def _escape(self, scan: Scan) -> bool:
        following = scan.peek(1)
        if following is None:
            return False
        if following and following in _PUNCTUATION:
            scan.at += 1
        return self._literal(scan)

    def _tag(self, scan: Scan) -> bool:
        tag = read_tag(scan)
        if tag is None:
            return False
        if tag.end < 0:
            return self._literal(scan)
        scan.at = tag.end
        if tag.text.startswith("<"):
            link = tag.text[1:-1].removeprefix("mailto:")
            self._put(self._atoms.put(link, (host_of(link) if "://" in link else "") or link))
        elif tag.text in _BLOCK_TAGS:
            self._break_within()
        return True

    def _break_within(self) -> None:
        row, heading = self._row, self._heading
        if row:
            self._space = True  # a line break within a cell
        else:
            self.put_break()
        self._row, self._heading = row, heading

    def _entity(self, scan: Scan) -> bool:
        entity = read_entity(scan)
        if entity is None:
            return False
        if entity.end < 0:
            return self._literal(scan)
        scan.at = entity.end
        if entity.text.isspace():
            self.put_space()
        elif entity.text and not _ANY_EMOJI.search(entity.text):
            self._put(entity.text)
        return True

    # -- links ---------------------------------------------------------------------------------

    def _replace(self, scan: Scan, label: Reading) -> bool:
        """Continue with a link's label in place of the link: it may contain markup."""
        scan.text = label.text + scan.text[label.end :]
        scan.at = 0
        return True

    def _bracket(self, scan: Scan) -> bool:
        if scan.peek(1) == "!" and scan.peek(2) == "[":
            scan.at += 1  # an image in a link: the target is dropped when it is reached
            return True
        return self._label(scan, 1)

    def _image(self, scan: Scan) -> bool:
        following = scan.peek(1)
        if following is None:
            return False
        return self._label(scan, 2) if following == "[" else self._literal(scan)

    def _label(self, scan: Scan, opening: int) -> bool:
        label = read_label(scan, opening)
        if label is None:
            return False
        return self._literal(scan) if label.end < 0 else self._replace(scan, label)

    def _orphan_bracket(self, scan: Scan) -> bool:
        following = scan.peek(1)
        target = read_target(scan, scan.at + 1) if following is not None else None
        if target is None:
            return False
        is_target = "/" in target.text or target.text.startswith("#")
        if target.end < 0 or " " in target.text or not is_target:
            return self._literal(scan)
        scan.at = target.end
        return True

    def _url(self, scan: Scan) -> bool:
        if self._before.isascii() and self._before.isalnum():
            return self._literal(scan)
        url = read_url(scan)
        if url is None:
            return False
        if url.end < 0:
            return self._literal(scan)
        self._put(self._atoms.put(url.text, host_of(url.text)))
        scan.at = url.end
        return True

    # -- tables and headings -------------------------------------------------------------------

    def _pipe(self, scan: Scan) -> bool:
        spaced = self._before == " " and not self._row
        end = scan.at + 1
        while end < len(scan.text) and end - scan.at < _CELL_GAP and scan.text[end] in " |":
            end += 1
        if end == len(scan.text) and end - scan.at < _CELL_GAP and not scan.final:
            return False
        if not self._row and not (spaced and end > scan.at + 1):
            return self._literal(scan)
        last = end == len(scan.text) or scan.text[end] == "\n"
        scan.at = end
        self._space = False
        if not last and self._last != BREAK:
            if self._last != ",":
                self._put(",")
            self._space = True
        return True

    def _hash(self, scan: Scan) -> bool:
        following = scan.peek(1)
        if following is None:
            return False
        if following and following in "\ufe0f\u20e3":
            return self._digit(scan)
        if not self._heading:
            return self._literal(scan)
        run = scan.run("#", _RUN)
        if run is None:
            return False
        if scan.at + run == len(scan.text) or scan.text[scan.at + run] == "\n":
            scan.at += run
            return True
        return self._literal(scan, run)
