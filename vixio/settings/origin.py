"""Where values of the settings come from: the file, the console, and what variables gave."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from vixio.settings.key_path import KeyPath

SHORTEST = 6
"""Characters from which a value of a variable is looked for within other texts."""


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """``keys``: that stand in the file, with their lines. ``expanded``: those of values with
    ``${VAR}``. ``texts``: these values, and those of the variables alone. ``file``: the path of the
    file, absolute; empty: there is none. ``console``: keys that were set in the browser. Two of
    them are equal: where a value comes from is no part of what it is."""

    keys: Mapping[KeyPath, int] = field(default_factory=dict)
    expanded: frozenset[KeyPath] = frozenset()
    texts: frozenset[str] = frozenset()
    file: str = ""
    console: frozenset[KeyPath] = frozenset()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Origin)

    def __hash__(self) -> int:
        return hash(Origin)

    def renewed(self, read: Origin, sections: Collection[str]) -> Origin:
        """Return what is known after ``sections`` were taken from what was read again."""
        keys = {path: line for path, line in self.keys.items() if path[0] not in sections}
        expanded = {path for path in self.expanded if path[0] not in sections}
        return Origin(
            {**read.keys, **keys},
            frozenset(expanded | read.expanded),
            self.texts | read.texts,
            read.file or self.file,
            read.console,
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
