"""What a language model writes, read piece by piece: text for the user, and what is not for ears.

Tool calls written as text, reasoning and control tokens leave the text here, before speech, screen,
history and the next request see it. The markers of each family of models are rows of tables
(``markers``). Not here: Markdown, formulas and all else that is text for the user in
a written form (``vixio.language.text``).
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Further(NamedTuple):
    """Markers that a user adds: pairs around reasoning, and tokens to remove."""

    reasoning: tuple[tuple[str, str], ...] = ()
    removed: tuple[str, ...] = ()

    def __add__(self, other: object) -> Further:
        """Return both."""
        if not isinstance(other, Further):
            return NotImplemented
        return Further(self.reasoning + other.reasoning, self.removed + other.removed)


NOTHING: Final = Further()
