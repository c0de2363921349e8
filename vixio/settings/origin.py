"""Where values of the settings come from: the keys of the file, and what variables gave."""

from __future__ import annotations

from dataclasses import dataclass

from vixio.settings.key_path import KeyPath

SHORTEST = 6
"""Characters from which a value of a variable is looked for within other texts."""


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """``keys``: that stand in the file. ``expanded``: those of values with ``${VAR}``. ``texts``:
    these values, and those of the variables alone. ``file``: the path of the file, absolute; empty:
    there is none. Two of them are equal: where a value comes from is no part of what it is."""

    keys: frozenset[KeyPath] = frozenset()
    expanded: frozenset[KeyPath] = frozenset()
    texts: frozenset[str] = frozenset()
    file: str = ""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Origin)

    def __hash__(self) -> int:
        return hash(Origin)

    def joined(self, other: Origin) -> Origin:
        """Return what is known from either."""
        return Origin(
            self.keys | other.keys,
            self.expanded | other.expanded,
            self.texts | other.texts,
            other.file or self.file,
        )

    def gave(self, text: str) -> bool:
        """Whether a text comes from a variable, or has a value of one in it.

        Also after a change of case or of an end, as models make it; a value that only looks alike
        counts too.
        """
        own = text.strip().lower()
        if not own:
            return False
        for each in self.texts:
            known = each.strip().lower()
            if known == own:
                return True
            shorter, longer = sorted((known, own), key=len)
            if len(shorter) >= SHORTEST and shorter in longer:
                return True
        return False
