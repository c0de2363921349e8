"""Placeholders for text that is never split: URLs, inline code, formulas, emoji.

Each is one private-use character in the stripped text, so the search for sentence boundaries cannot
look into it. It is replaced by its content when its sentence is complete. Private-use characters of
the model are removed before, so no text can forge a placeholder.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from vixio.language.text.characters import ATOM_SLOT, BREAK, EMOJI_CLUSTER, EMOJI_SLOT
from vixio.language.text.latex_terms import Formula

_SLOT: Final = re.compile(f"[{ATOM_SLOT}]")
_EMOJI_PART: Final = re.compile(f"{EMOJI_CLUSTER.pattern}|[\ufe0e\ufe0f\u20e3]")
_EMOJI_RUN: Final = re.compile(f" *[{EMOJI_SLOT}][{EMOJI_SLOT} ]*")
_PUNCTUATION: Final = ".,!?;:…，。！？；：、)）」』”’"
# host.tld/path without a scheme: read as far as the host
_BARE_PATH: Final = re.compile(
    r"(?<![\w@./-])((?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,})"
    r"/(?:[^\s，。！？；、）」”]*[^\s，。！？；、）」”.,;:!?)\"'])?"
)
_MANY_SPACES: Final = re.compile(" {2,}")
_HAN: Final = re.compile("[\u3400-\u9fff\U00020000-\U0003fffd]")
_LATIN: Final = re.compile("[A-Za-z]{2}")
# Japanese, Korean, Cyrillic, Greek, Arabic, Indic, Thai: there are no words for formulas.
_OTHER_SCRIPTS: Final = re.compile("[\u0370-\u1cff\u3041-\u30ff\uac00-\ud7a3]")


def without_emoji(text: str) -> str:
    """Return ``text`` without emoji and parts of emoji. For text that is complete."""
    return text if text.isascii() else _EMOJI_PART.sub("", text)


class Atom(NamedTuple):
    """The content of a placeholder, as shown and as spoken."""

    shown: str
    spoken: str


class Atoms:
    """The placeholders of one reply that have not been replaced yet."""

    def __init__(self, language: str = "") -> None:
        self._language = language.lower().partition("-")[0]
        self._spoken = "zh" if self._language == "zh" else "en"  # by the last sentence
        self._atoms: dict[str, Atom | Formula] = {}
        self._emoji: dict[str, str] = {}
        self._next_atom = 0
        self._next_emoji = 0

    def put(self, shown: str, spoken: str) -> str:
        """Return the placeholder of text that must not be split."""
        return self.keep(Atom(without_emoji(shown), without_emoji(spoken)))

    def keep(self, atom: Atom | Formula) -> str:
        """Return the placeholder of ``atom``; a formula is spoken in its sentence's language."""
        # Slots are reused in turn: there are far more than one sentence can hold.
        slot = chr(0xF000 + self._next_atom)
        self._next_atom = (self._next_atom + 1) % 0x8FF
        self._atoms[slot] = atom
        return slot

    def put_emoji(self, cluster: str) -> str:
        """Return the placeholder of an emoji."""
        slot = chr(0xE001 + self._next_emoji)
        self._next_emoji = (self._next_emoji + 1) % 0xFFE
        self._emoji[slot] = cluster
        return slot

    def take_emoji(self, slot: str) -> str:
        """Return the emoji of ``slot``, and free the slot."""
        return self._emoji.pop(slot)

    def spoken_length(self, text: str) -> int:
        """Return how many characters the atoms in ``text`` have in speech."""
        if not self._atoms or text.isascii():
            return 0
        # Of a formula the English words, the longest: its language is not known yet.
        return sum(len(self._atoms[slot][1]) for slot in _SLOT.findall(text))

    def restore(self, text: str) -> Atom:
        """Return ``text`` as shown and as spoken, with atoms replaced and emoji removed."""
        text = text.replace(BREAK, " ")
        emoji = _EMOJI_RUN.search(text)
        if emoji:
            text = _EMOJI_RUN.sub(self._drop_emoji, text)
            text = _MANY_SPACES.sub(" ", text)
        text = text.strip()
        language = self._language_of(text)
        shown = _SLOT.sub(lambda match: self._atoms[match[0]].shown, text)
        spoken = _SLOT.sub(lambda match: self._say(match, language), text)
        return self._without_paths(shown, spoken)

    @staticmethod
    def _without_paths(shown: str, spoken: str) -> Atom:
        if "/" in spoken:
            spoken = _BARE_PATH.sub(r"\1", spoken)
        return Atom(shown, spoken)

    def _language_of(self, text: str) -> str:
        """Return the language of the words for formulas in this sentence; "": plain symbols."""
        if _OTHER_SCRIPTS.search(text):
            self._spoken = ""
        elif _HAN.search(text):
            self._spoken = "" if self._language == "ja" else "zh"
        elif self._language not in ("", "auto", "en", "zh"):
            self._spoken = ""
        elif _LATIN.search(text):
            self._spoken = "en"
        return self._spoken

    def _say(self, match: re.Match[str], language: str) -> str:
        atom = self._atoms.pop(match[0])
        if isinstance(atom, Atom):
            return atom.spoken
        words = {"en": atom.english, "zh": atom.chinese}.get(language, atom.shown)
        text, start, end = match.string, match.start(), match.end()
        if language == "en":  # the words are apart from a number or letter beside them
            left = " " if start and _touches(text[start - 1]) else ""
            return left + words + (" " if end < len(text) and _touches(text[end]) else "")
        return words

    def _drop_emoji(self, match: re.Match[str]) -> str:
        for slot in match[0]:
            self._emoji.pop(slot, None)
        following = match.string[match.end() : match.end() + 1]
        return "" if following and following in _PUNCTUATION else " "


def _touches(character: str) -> bool:
    return character.isalnum() or _SLOT.match(character) is not None
