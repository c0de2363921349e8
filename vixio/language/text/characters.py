"""Classes of characters, as strings for regular-expression brackets and as compiled patterns.

The sentence-terminal marks follow the property Sentence_Terminal of Unicode's PropList.txt (basic
plane and the common supplementary scripts); the emoji follow emoji-data.txt, coarsely by block.
"""

from __future__ import annotations

import re
from typing import Final

BREAK: Final = "\ue000"
"""Marks the end of a block in stripped text: a paragraph, heading, list item or table row."""
EMOJI_SLOT: Final = "\ue001-\uefff"
"""Placeholders of emoji, see :mod:`vixio.language.text.atoms`."""
ATOM_SLOT: Final = "\uf000-\uf8ff"
"""Placeholders of text that is never split: URLs, inline code."""

WIDE: Final = (
    "\u1100-\u115f\u2e80-\u2fdf\u2ff0-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3"
    "\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff60\uffe0-\uffe6\U00020000-\U0003fffd"
)
"""East Asian Width W and F without the emoji: a character that takes as long as a syllable."""

SPACELESS: Final = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Myanmar, Khmer: words are not spaced, so a space divides phrases."""

STOP_AT_ONCE: Final = "。｡"
"""After these only a closing quote can belong to the sentence."""

TERMINALS: Final = (
    "!?！？。｡\u0589\u061d-\u061f\u06d4\u0700-\u0702\u07f9\u0837\u0839\u083d\u083e\u0964\u0965"
    "\u104a\u104b\u1362\u1367\u1368\u166e\u1735\u1736\u17d4\u17d5\u1803\u1809\u1944\u1945"
    "\u1aa8-\u1aab\u1b5a\u1b5b\u1b5e\u1b5f\u1c3b\u1c3c\u1c7e\u1c7f\u203c\u203d\u2047-\u2049"
    "\u2e2e\u2e3c\u2e53\u2e54\ua4ff\ua60e\ua60f\ua6f3\ua6f7\ua876\ua877\ua8ce\ua8cf\ua92f"
    "\ua9c8\ua9c9\uaa5d-\uaa5f\uaaf0\uaaf1\uabeb\ufe56\ufe57\U00010a56\U00010a57"
    "\U00011047\U00011048\U000110be-\U000110c1\U00011141-\U00011143\U000111c5\U000111c6"
)
"""Sentence-terminal marks without the full stops, which need more context."""

FULL_STOPS: Final = ".．"
ELLIPSIS: Final = "…"
CLAUSES: Final = ",;:，、；：،؛—–፣၊។"
OPENERS: Final = "(（[［{「『“‘«‹【《〈〔〖"
CLOSERS: Final = ")）]］}」』”’»›】》〉〕〗\"'"

_BASE: Final = (
    "\u231a-\u23ff\u2600-\u27bf\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55"
    "\u25a0-\u25ca\u25cc-\u25ff\u2500-\u259f\U0001f000-\U0001faff"
)
_TEXT_FIRST: Final = "©®™‼⁉ℹ↔-↙↩↪Ⓜ〰〽㊗㊙"
_TAIL: Final = (
    f"(?:[\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]|\u200d[{_BASE}↔↕⬛➡]?)"
)

EMOJI_START: Final = f"{_BASE}{_TEXT_FIRST}"
"""First characters of emoji, except the keycaps ``0-9#*``."""
EMOJI_CLUSTER: Final = re.compile(
    f"(?:[\U0001f1e6-\U0001f1ff]{{2}}|[{_BASE}]{_TAIL}{{0,15}}"
    f"|[{_TEXT_FIRST}]\ufe0f{_TAIL}{{0,15}}|[0-9#*]\ufe0f?\u20e3)"
)
"""One emoji as displayed: ZWJ sequence, flag, keycap, skin tone and selector included.

Letter-like signs (©, ™, ↔) are emoji only before a variation selector.
"""

STRAY_MARKS: Final = "\ufe0e\ufe0f\u20e3\u200d"
"""Parts of emoji, meaningless alone (except U+200D within Indic and Arabic words)."""

CITATION_START, CITATION_END, CITATION_PART = "\x02", "\x03", "\x1f"
"""Around and within a citation of OpenAI's search, which writes U+E200, U+E201 and U+E202.

Control characters of the model are removed, so no other text has them.
"""

_NOTHING: Final = {
    **dict.fromkeys(range(0x20)),
    **dict.fromkeys(range(0x7F, 0xA0)),
    **dict.fromkeys(range(0xD800, 0xF900)),  # lone surrogates; private use, our placeholders
    **dict.fromkeys([0xAD, 0x200B, 0x200E, 0x200F, 0xFEFF, 0x2060, 0xFFFC, 0xFFFD]),
    **dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)]),
}
_NEWLINES: Final = dict.fromkeys([0x0A, 0x0B, 0x0C, 0x85, 0x2028, 0x2029], "\n")
_SPACES: Final = dict.fromkeys(
    [0x09, 0x0D, 0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " "
)
PLAIN_CHARACTERS: Final[dict[int, str | None]] = {
    **_NOTHING,
    **_NEWLINES,
    **_SPACES,
    0xE200: CITATION_START,
    0xE201: CITATION_END,
    0xE202: CITATION_PART,
}
"""For ``str.translate``: one kind of space, one kind of newline, nothing invisible."""

_IS_WIDE: Final = re.compile(f"[{WIDE}]")


def is_wide(character: str) -> bool:
    """Return whether ``character`` (one, or none) is of a script that is written without spaces."""
    return _IS_WIDE.match(character) is not None


def count_wide(text: str) -> int:
    """Return how many wide characters ``text`` holds."""
    return 0 if text.isascii() else len(_IS_WIDE.findall(text))
